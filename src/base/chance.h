// Chance for pauses (base/backoff.h), so that many who failed at once do not all come back at once. Thread-safe.
#pragma once
#include <random>

namespace tacho {

// In [0, 1); each thread has a row of its own. Not for secrets.
inline double chance() {
  static thread_local std::minstd_rand random{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(random);
}

}  // namespace tacho
