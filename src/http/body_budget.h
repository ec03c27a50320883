// Bounds the bytes of all requests that a server holds, from their arrival to their answer, so that many slow or large
// uploads cannot take up the memory. Small requests have a pool of their own, so that large ones do not crowd them out.
// When a pool is full, the slowest body makes room for one that arrives well: a request must send kStep bytes every
// kSlow_ns, or loses its room to the first that asks. Thread-safe.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace tacho {

class BodyBudget {
 public:
  static constexpr size_t kSmall = 64u << 10, kStep = 64u << 10;
  static constexpr int64_t kSlow_ns = 500'000'000;

  BodyBudget(int64_t small_bytes, int64_t large_bytes, int64_t slow_ns = kSlow_ns)
      : slow_ns_(slow_ns), small_{small_bytes, 0, {}}, large_{large_bytes, 0, {}} {}

  // One request's share; its destructor gives back what it holds. Used by one thread, except that another one calls
  // on_evicted, under a lock: it may only leave a message.
  class Share {
   public:
    Share(BodyBudget* budget, std::function<void()> on_evicted) : budget_(budget), on_evicted_(std::move(on_evicted)) {}
    ~Share() { set(0); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    // False: there is not enough room, and the share is as before.
    bool set(size_t bytes) { return bytes == held_ || budget_->resize(*this, bytes); }
    // The request is whole: its room is not taken away any more.
    void complete() { budget_->complete(*this); }
    // The request came in too slowly and its room is promised to others: it has to go.
    bool is_evicted() const { return evicted_.load(std::memory_order_relaxed); }

   private:
    friend class BodyBudget;
    BodyBudget* const budget_;
    const std::function<void()> on_evicted_;
    size_t held_ = 0, step_bytes_ = 0;  // step_bytes_: held when the last step was made
    int64_t step_ns_ = 0;
    bool listed_ = false;  // among those that arrive, at place_
    size_t place_ = 0;
    std::atomic<bool> evicted_ = false;
  };

  int64_t left_bytes() const;

 private:
  struct Pool {
    int64_t left = 0;      // below 0 while those that were evicted have not gone yet
    int64_t promised = 0;  // held by those
    std::vector<Share*> arriving;
  };
  Pool& pool(size_t bytes) { return bytes <= kSmall ? small_ : large_; }
  bool resize(Share& share, size_t bytes);
  void complete(Share& share);
  bool make_room(Pool& pool, int64_t bytes, const Share& asking, int64_t now_ns);
  void list(Share& share);
  void unlist(Share& share);

  const int64_t slow_ns_;
  mutable std::mutex mutex_;
  Pool small_, large_;
};

}  // namespace tacho
