// meta.json and state.json of a run whose rows become metrics, as plain data (sink/metric_sink.h says what the agent
// writes), and the tables of series that each protocol has. Thread-safe (no state).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "deliver/records.h"
#include "net/metrics/otlp.h"
#include "net/metrics/series.h"

namespace tacho {

struct MetricEnd {
  int64_t time_ms = 0;
  std::optional<int64_t> exit_code, memory_peak_bytes;
};

struct MetricMeta {
  std::string run, url, header, store_folder, version;
  bool otlp = false, system = false, json = false, gzip = true;
  int64_t started_ms = 0;  // 0: not known yet
  SeriesLabels labels, info;
  std::optional<double> cpu_request, memory_request;
  OtlpAttributes resource;
  std::optional<MetricEnd> end;
};
Result<MetricMeta> parse_metric_meta(std::string_view text);

// A chunk is what goes as one request: the same rows, whoever sends it.
struct MetricState {
  int64_t chunks = 0;   // that are decided
  int64_t decided = 0;  // points of the next one
  int64_t sent = 0, refused = 0;
  int64_t letter_bytes = 0;  // of the dead letter, when this was written
  Json resource;             // of OTLP, with the cloud; null: not asked yet
};
Result<MetricState> parse_metric_state(std::string_view text);
std::string metric_state_json(const MetricState& state);

OtlpAttributes attributes_of(const Json& list);
// With the cloud that a start body names, and what OTEL_RESOURCE_ATTRIBUTES, OTEL_SERVICE_NAME and --metric-label say,
// which win.
Json full_resource(const Json& resource, const Json& start, const MetricMeta& meta);

std::vector<MetricSeries> prometheus_series(const MetricMeta& meta);
std::vector<MetricSeries> otlp_series(const MetricMeta& meta);

}  // namespace tacho
