// What the webhook counts, in Prometheus' text form. Counting is lock-free; thread-safe.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace tacho {

class WebhookMetrics {
 public:
  enum Hook { pod, job, kHooks };
  void count(Hook hook, std::string_view result, int64_t duration_ns);
  void image_lookup(std::string_view result);  // cached, fetched, failed, unknown
  std::string text() const;

 private:
  static constexpr std::array<std::string_view, 5> kResults{"injected", "unchanged", "warned", "refused", "error"};
  static constexpr std::array<std::string_view, 4> kLookups{"cached", "fetched", "failed", "unknown"};
  static constexpr std::array<double, 12> kBounds{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
                                                  0.01,   0.025,   0.1,    0.5,   1,      2};
  struct Cell {
    std::atomic<uint64_t> count{0}, total_ns{0};
    std::array<std::atomic<uint64_t>, kBounds.size()> buckets{};
  };
  std::array<std::array<Cell, kResults.size()>, kHooks> cells_{};
  std::array<std::atomic<uint64_t>, kLookups.size()> lookups_{};
};

}  // namespace tacho
