// How long to wait before the next attempt. Values only: the clock and chance are the caller's. Not thread-safe.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>

namespace tacho {

// A pause that doubles: the first, twice that, … the longest; in whatever unit these two are.
class DoublingPause {
 public:
  constexpr DoublingPause(int64_t first, int64_t longest) : first_(first), longest_(longest), pause_(first) {}
  int64_t next() {
    ++attempts_;
    return std::exchange(pause_, pause_ < longest_ - pause_ ? 2 * pause_ : longest_);
  }
  void be_longest() { pause_ = longest_; }          // for what will not change soon
  void reset() { pause_ = first_, attempts_ = 0; }  // after a success
  int attempts() const { return attempts_; }        // since then

 private:
  int64_t first_, longest_, pause_;
  int attempts_ = 0;
};

// What a server may ask for at the most.
constexpr int64_t kMaxRetryAfterMs = 300'000;

// Full jitter: anything between 0 and a bound that doubles from 1 s to 60 s.
class Backoff {
 public:
  Backoff() = default;
  Backoff(int64_t first_ms, int64_t last_ms) : bound_ms_(first_ms, last_ms) {}
  // How long to wait now. random is in [0, 1); the server's wish is a lower limit.
  int64_t next_ms(double random, int64_t retry_after_ms = 0) {
    const auto wait_ms = static_cast<int64_t>(static_cast<double>(bound_ms_.next()) * std::clamp(random, 0.0, 1.0));
    return std::max(wait_ms, std::min(retry_after_ms, kMaxRetryAfterMs));
  }
  // The same where the first wait must be long already.
  int64_t next_ms_at_least(int64_t at_least_ms, double random, int64_t retry_after_ms = 0) {
    return at_least_ms + next_ms(random, std::max<int64_t>(0, retry_after_ms - at_least_ms));
  }
  void reset() { bound_ms_.reset(); }
  int attempts() const { return bound_ms_.attempts(); }

 private:
  DoublingPause bound_ms_{1'000, 60'000};
};

}  // namespace tacho
