// All bytes of requests that a server holds, together, from their arrival to their answer: many slow or large uploads cannot
// take the memory. Small requests have a pool of their own, so that large ones do not crowd them out. Thread-safe.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tacho {

class BodyBudget {
 public:
  static constexpr size_t kSmall = 64u << 10;

  BodyBudget(int64_t small_bytes, int64_t large_bytes) : small_(small_bytes), large_(large_bytes) {}

  // One request's share; what it holds is given back with it. Used by one thread.
  class Share {
   public:
    explicit Share(BodyBudget* budget) : budget_(budget) {}
    ~Share() { set(0); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    // False: there is no room for so much, and the share is as before.
    bool set(size_t bytes) {
      if (bytes == held_) return true;
      if (bytes > held_ && !budget_->take(bytes)) return false;
      if (bytes < held_) budget_->force(bytes);
      budget_->give(held_);
      held_ = bytes;
      return true;
    }

   private:
    BodyBudget* const budget_;
    size_t held_ = 0;
  };

  int64_t left_bytes() const { return small_.load() + large_.load(); }

 private:
  std::atomic<int64_t>& pool(size_t bytes) { return bytes <= kSmall ? small_ : large_; }
  bool take(size_t bytes) {
    if (pool(bytes).fetch_sub(static_cast<int64_t>(bytes)) >= static_cast<int64_t>(bytes)) return true;
    give(bytes);
    return false;
  }
  void force(size_t bytes) { pool(bytes).fetch_sub(static_cast<int64_t>(bytes)); }
  void give(size_t bytes) { pool(bytes).fetch_add(static_cast<int64_t>(bytes)); }

  std::atomic<int64_t> small_, large_;
};

}  // namespace tacho
