// Prometheus remote write 1.0: the message WriteRequest, its compression, and the same samples as OpenMetrics text for
// those that a server refuses. Pure; thread-safe.
#pragma once
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "net/metrics/series.h"

namespace tacho {

// The value that ends a series: a NaN that no calculation gives.
constexpr uint64_t kStaleBits = 0x7ff0000000000002;
inline double stale_marker() { return std::bit_cast<double>(kStaleBits); }
inline bool is_stale(double value) { return std::bit_cast<uint64_t>(value) == kStaleBits; }

// All labels of a series, __name__ included: by name, none empty, none twice (its own win), valid UTF-8 without control
// characters but line ends.
SeriesLabels sorted_labels(const MetricSeries& series, const SeriesLabels& common);

// The message with one TimeSeries for each series that has a point here, in the order of `series`; no points make the
// empty request.
std::string write_request(std::span<const MetricSeries> series, const SeriesLabels& common,
                          std::span<const MetricPoint> points);
// Snappy's block format, without frames.
std::string snappy_block(std::string_view text);

// `name{label="value"} 1.5 1794736860.000` and a line end.
std::string openmetrics_line(const SeriesLabels& labels, const MetricPoint& point);

}  // namespace tacho
