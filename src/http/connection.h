// One client: moves bytes between its transport and its protocol and knows when it has taken too long. Owned by one
// loop.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "http/protocol.h"
#include "http/transport.h"

namespace tacho {

class Connection {
 public:
  struct Rules {
    int64_t head_ms = 0, body_ms = 0, idle_ms = 0;
    size_t body_limit = 0;
    BodyBudget* budget = nullptr;
    const std::atomic<bool>* last_answers = nullptr;
  };
  // What the loop has to do after a step.
  struct Wish {
    bool close = false;
    bool again = false;                // more can be done at once, but others have a turn first
    bool read = false, write = false;  // what to wait for
    int64_t deadline_ns = 0;
  };

  // `wake` is called by any thread and leads to a step.
  Connection(Fd fd, SSL_CTX* context, const Rules& rules, Protocol::Dispatch dispatch, std::function<void()> wake,
             int64_t now_ns);

  int fd() const { return transport_.fd(); }
  Wish step(int64_t now_ns);  // the socket is ready, an answer has come, or the time is up
  int64_t deadline_ns() const { return deadline_ns_; }
  void respond(uint64_t number, ServedResponse&& response);
  void drain() { draining_ = true; }
  // Since when we have waited for the peer: for a hand shake, for a request or its rest, or for it to read. Never while
  // the handler has a request. If there are too many connections, the one that has waited longest goes; bytes that
  // trickle in do not shorten its wait.
  int64_t waits_since_ns() const;

 private:
  enum class Stage { handshake, open, lingering };
  bool shake_hands();  // false: nothing more to do now
  bool reads() const;
  bool take_input();  // true: stopped for fairness
  void send_output(int64_t now_ns);
  void set_deadline(int64_t now_ns);

  Transport transport_;
  const Rules rules_;
  Protocol::Dispatch dispatch_;
  std::function<void()> wake_;
  std::unique_ptr<Protocol> protocol_;
  Stage stage_ = Stage::handshake;
  std::string output_;
  size_t sent_ = 0;
  bool wants_write_ = false, closed_ = false, failed_ = false, draining_ = false, input_ended_ = false;
  Protocol::Progress progress_;
  int64_t progress_since_ns_ = 0, write_begin_ns_ = 0, write_since_ns_ = 0, linger_since_ns_ = 0;
  int64_t deadline_ns_ = 0;
};

}  // namespace tacho
