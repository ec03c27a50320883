// One thread that serves its connections, on an io_context of Boost.Asio, which only one file includes. Others hand the
// thread sockets and answers; everything else here belongs to it. Asio says when a socket is ready and when the time is
// up; Connection moves the bytes, since Asio's TLS stream holds four buffers of 17 KiB even when it is idle.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

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
    int connections_limit = 0;  // more are taken only if a waiting one can go for each
    int slack = 0;              // this many more if all are being answered; further ones wait in the kernel's queue
    std::atomic<bool> last_answers = false;
    // Hands the request to the handler; the answer comes back by Loop::answer, from any thread.
    std::function<void(Loop& loop, uint64_t connection, uint64_t number, ServedRequest&& request)> handle;
    std::function<void()> on_room;  // a connection ended while no new ones were taken
    std::function<void()> on_no_descriptor;
  };

  explicit Loop(Shared& shared);
  ~Loop();
  void start();
  // Thread-safe:
  void listen(int listener_fd, std::function<void(Fd)> accepted);
  // Takes the connections still in the kernel's queue, then refuses new ones. Waits until that is done.
  void stop_listening();
  void adopt(Fd client);
  void answer(uint64_t connection, uint64_t number, ServedResponse&& response);
  void listen_again();
  void make_room();  // the connection that waits longest ends
  void drain(int64_t until_ns);
  int load() const { return load_.load(std::memory_order_relaxed); }
  void join();
  // On the loop's own thread, from within Shared::handle.
  void answer_now(uint64_t connection, uint64_t number, ServedResponse&& response);

 private:
  struct Core;
  Shared& shared_;
  std::unique_ptr<Core> core_;
  std::thread thread_;
  std::atomic<int> load_ = 0;
};

}  // namespace tacho
