// What a connection speaks once its bytes are plain: HTTP/1.1, on Boost.Beast's parser, which only one file includes. A
// protocol turns bytes into requests and answers into bytes; it owns no socket and no clock. Used by the one thread
// that owns the connection.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "http/body_budget.h"
#include "http/server.h"

namespace tacho {

inline constexpr size_t kHeadLimit = 64u << 10;
inline constexpr size_t kFieldLimit = 256;           // header fields and trailers
inline constexpr size_t kChunkTalkLimit = 8u << 10;  // chunk extensions, and a chunk's head or trailers that do not end

class Protocol {
 public:
  // A request is complete. respond() may be called from within.
  using Dispatch = std::function<void(uint64_t number, ServedRequest&& request)>;
  struct Limits {
    size_t body_limit = 0;
    BodyBudget* budget = nullptr;
    bool has_client_certificate = false;
    const std::atomic<bool>* last_answers = nullptr;  // true: an answer is a connection's last
    std::function<void()> wake;                       // by any thread: the connection has a step to make
  };
  // What the peer is doing, for the deadlines. `number` changes with every new request, so that a trickle of bytes does
  // not count as progress.
  enum class Phase { idle, head, body, busy };
  struct Progress {
    Phase phase = Phase::head;
    uint64_t number = 0;
    bool operator==(const Progress&) const = default;
  };

  virtual ~Protocol() = default;
  // False: the peer broke the protocol; what collect() still gives is sent, then the connection ends.
  virtual bool receive(std::string_view bytes) = 0;
  virtual void respond(uint64_t number, ServedResponse&& response) = 0;
  virtual void collect(std::string& out) = 0;  // appends what can be sent now
  // All that was collected has been sent: only now may the next pipelined request begin, so that a peer that does not
  // read causes no more than one answer. False as for receive().
  virtual bool proceed() = 0;
  virtual bool wants_input() const = 0;
  virtual bool finished() const = 0;  // nothing will follow what was collected
  virtual void drain() = 0;           // finish what has begun, take nothing new
  virtual Progress progress() const = 0;
};

std::unique_ptr<Protocol> make_http1(const Protocol::Limits& limits, Protocol::Dispatch dispatch);

}  // namespace tacho
