// One thread that serves its connections by epoll. Others hand it sockets and answers through a mailbox; everything
// else here belongs to that thread.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "http/connection.h"
#include "http/tls.h"
#include "os/fd.h"

namespace tacho {

class Loop {
 public:
  struct Shared {  // what all loops of a server see
    Connection::Rules rules;
    TlsFiles* tls = nullptr;  // nullptr: plain
    std::atomic<int> connections = 0;
    int connections_limit = 0;
    // Hands the request to the handler; the answer comes back by Loop::answer, from any thread.
    std::function<void(Loop& loop, uint64_t connection, uint64_t stream, ServedRequest&& request)> handle;
    std::function<void()> on_room;  // a connection ended while the limit was reached
  };

  explicit Loop(Shared& shared) : shared_(shared) {}
  ~Loop() { join(); }
  Status start(int listener_fd, std::function<void(Fd)> accepted);  // −1: this loop does not accept
  // Thread-safe:
  void adopt(Fd client);
  void answer(uint64_t connection, uint64_t stream, ServedResponse&& response);
  void wake();
  void drain(int64_t until_ns);
  int load() const { return load_.load(std::memory_order_relaxed); }
  void join();
  // On the loop's own thread, from within Shared::handle.
  void answer_now(uint64_t connection, uint64_t stream, ServedResponse&& response);

 private:
  struct Letter {
    Fd client;  // a new one, or an answer for `connection`
    uint64_t connection = 0, stream = 0;
    ServedResponse response;
  };
  void run();
  void post(Letter&& letter);
  void read_mail(int64_t now_ns);
  void accept_all();
  void listen_or_not();
  void step(uint64_t id, int64_t now_ns);
  void close(uint64_t id);
  void sweep(int64_t now_ns);
  void begin_drain(int64_t now_ns);
  int wait_ms(int64_t now_ns) const;

  Shared& shared_;
  std::thread thread_;
  Fd epoll_, wake_;
  int listener_fd_ = -1;
  bool listening_ = false;
  std::function<void(Fd)> accepted_;
  std::unordered_map<uint64_t, std::unique_ptr<Connection>> connections_;
  std::vector<uint64_t> again_;
  uint64_t next_id_ = 16;  // smaller ones are the loop's own descriptors
  int64_t next_sweep_ns_ = 0;
  int64_t next_files_ns_ = 0;
  int64_t drain_until_ns_ = 0, next_drain_ns_ = 0;
  std::atomic<int> load_ = 0;

  std::mutex mutex_;
  std::vector<Letter> mail_;
  bool signalled_ = false;
  int64_t drain_asked_ns_ = 0;
};

}  // namespace tacho
