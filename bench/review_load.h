// A load of reviews over many TLS connections from one thread: as fast as the answers come, or at a fixed rate.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tacho {

struct LoadOptions {
  uint16_t port = 0;
  std::string body;  // the review
  int connections = 200;
  int64_t reviews = 0;
  double per_second = 0;  // 0: as fast as it goes
};

struct LoadResult {
  int64_t answered = 0, failed = 0;
  double seconds = 0;
  std::vector<int64_t> latencies_ns;  // sorted; from the time a review was due to its answer
  int64_t percentile_ns(double share) const;
};

LoadResult run_load(const LoadOptions& options);

}  // namespace tacho
