// OTLP/HTTP: the message ExportMetricsServiceRequest, in its binary form and as JSON. Pure; thread-safe.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "net/metrics/series.h"

namespace tacho {

using OtlpValue = std::variant<std::string, int64_t, std::vector<std::string>>;
using OtlpAttributes = std::vector<std::pair<std::string, OtlpValue>>;

struct OtlpRequest {
  const OtlpAttributes& resource;
  std::string_view version;  // of the scope "tacho"
  int64_t start_ms = 0;      // of the run
  std::span<const MetricSeries> series;
  std::span<const MetricPoint> points;
};
// The binary messages of several runs, one after the other, are one message.
std::string otlp_protobuf(const OtlpRequest& request);
// In JSON they are parts, with commas between, of which otlp_json_request() makes the message.
std::string otlp_json_part(const OtlpRequest& request);
std::string otlp_json_request(std::string_view parts);

}  // namespace tacho
