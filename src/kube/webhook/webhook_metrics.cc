#include "kube/webhook/webhook_metrics.h"

#include <algorithm>
#include <cstdio>

#include "base/units.h"

namespace tacho {
namespace {

constexpr std::array<std::string_view, WebhookMetrics::kHooks> kHookNames{"pod", "job"};

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

}  // namespace

void WebhookMetrics::count(Hook hook, std::string_view result, int64_t duration_ns) {
  const auto found = std::find(kResults.begin(), kResults.end(), result);
  Cell& cell =
      cells_[hook][found == kResults.end() ? kResults.size() - 1 : static_cast<size_t>(found - kResults.begin())];
  cell.count.fetch_add(1, std::memory_order_relaxed);
  cell.total_ns.fetch_add(static_cast<uint64_t>(std::max<int64_t>(0, duration_ns)), std::memory_order_relaxed);
  const double seconds = as_seconds(duration_ns);
  for (size_t i = 0; i < kBounds.size(); i++) {
    if (seconds <= kBounds[i]) {
      cell.buckets[i].fetch_add(1, std::memory_order_relaxed);
      break;
    }
  }
}

void WebhookMetrics::image_lookup(std::string_view result) {
  const auto found = std::find(kLookups.begin(), kLookups.end(), result);
  if (found != kLookups.end())
    lookups_[static_cast<size_t>(found - kLookups.begin())].fetch_add(1, std::memory_order_relaxed);
}

std::string WebhookMetrics::text() const {
  std::string requests =
      "# HELP tacho_webhook_requests_total Reviews answered.\n# TYPE tacho_webhook_requests_total counter\n";
  std::string durations =
      "# HELP tacho_webhook_duration_seconds Time from a complete review to its answer.\n# TYPE "
      "tacho_webhook_duration_seconds histogram\n";
  for (size_t hook = 0; hook < kHooks; hook++) {
    for (size_t result = 0; result < kResults.size(); result++) {
      const Cell& cell = cells_[hook][result];
      const std::string labels =
          "hook=\"" + std::string(kHookNames[hook]) + "\",result=\"" + std::string(kResults[result]) + "\"";
      const uint64_t count = cell.count.load(std::memory_order_relaxed);
      requests += "tacho_webhook_requests_total{" + labels + "} " + std::to_string(count) + "\n";
      uint64_t below = 0;
      for (size_t i = 0; i < kBounds.size(); i++) {
        below += cell.buckets[i].load(std::memory_order_relaxed);
        durations += "tacho_webhook_duration_seconds_bucket{" + labels + ",le=\"" + short_number(kBounds[i]) + "\"} " +
                     std::to_string(below) + "\n";
      }
      // The total is read after its parts would be: never less than they are.
      const std::string whole = std::to_string(std::max(count, below));
      durations += "tacho_webhook_duration_seconds_bucket{" + labels + ",le=\"+Inf\"} " + whole + "\n";
      durations += "tacho_webhook_duration_seconds_sum{" + labels + "} " +
                   short_number(as_seconds(cell.total_ns.load(std::memory_order_relaxed))) + "\n";
      durations += "tacho_webhook_duration_seconds_count{" + labels + "} " + whole + "\n";
    }
  }
  std::string out = requests + durations;
  out +=
      "# HELP tacho_image_lookups_total Look-ups of an image's own command.\n# TYPE tacho_image_lookups_total "
      "counter\n";
  for (size_t i = 0; i < kLookups.size(); i++)
    out += "tacho_image_lookups_total{result=\"" + std::string(kLookups[i]) + "\"} " +
           std::to_string(lookups_[i].load(std::memory_order_relaxed)) + "\n";
  return out;
}

}  // namespace tacho
