// What a connection speaks once its bytes are plain: HTTP/1.1 or HTTP/2. A protocol turns bytes into requests and
// answers into bytes; it owns no socket and no clock. Used by the one thread that owns the connection.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "http/server.h"

namespace tacho {

// All bodies that are being received, together, so that many slow uploads cannot take the memory. Thread-safe.
class BodyBudget {
 public:
  explicit BodyBudget(int64_t limit_bytes) : left_(limit_bytes) {}
  bool take(size_t bytes) {
    if (left_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed) >= static_cast<int64_t>(bytes))
      return true;
    give(bytes);
    return false;
  }
  void give(size_t bytes) { left_.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> left_;
};

inline constexpr size_t kHeadLimit = 64u << 10;

class Protocol {
 public:
  // A request is complete. respond() may be called from within.
  using Dispatch = std::function<void(uint64_t stream, ServedRequest&& request)>;
  struct Limits {
    size_t body_limit = 0;
    BodyBudget* budget = nullptr;
    bool has_client_certificate = false;
  };
  // What the peer is doing, for the deadlines. `token` changes with every new request, so that a trickle of bytes does
  // not count as progress.
  enum class Phase { idle, head, body, busy };
  struct Progress {
    Phase phase = Phase::head;
    uint64_t token = 0;
    bool operator==(const Progress&) const = default;
  };

  virtual ~Protocol() = default;
  // False: the peer broke the protocol; what collect() still gives is sent, then the connection ends.
  virtual bool receive(std::string_view bytes) = 0;
  virtual void respond(uint64_t stream, ServedResponse&& response) = 0;
  virtual void collect(std::string& out) = 0;  // appends what can be sent now
  virtual bool wants_input() const = 0;
  virtual bool finished() const = 0;  // nothing will follow what was collected
  virtual void drain() = 0;           // finish what runs, take nothing new
  virtual Progress progress() const = 0;
};

std::unique_ptr<Protocol> make_http1(const Protocol::Limits& limits, Protocol::Dispatch dispatch);
std::unique_ptr<Protocol> make_http2(const Protocol::Limits& limits, Protocol::Dispatch dispatch);

// Told once a reason: what was refused never reaches the handler.
void tell_refused(int status, const Protocol::Limits& limits);

// "/a?b=c" into path and query.
void split_target(std::string_view target, ServedRequest& request);

}  // namespace tacho
