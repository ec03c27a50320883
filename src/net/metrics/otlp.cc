#include "net/metrics/otlp.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "base/writer.h"
#include "net/metrics/protobuf.h"

namespace tacho {
namespace {

constexpr int kCumulative = 2;

// The points of each series, and the series of each metric, in the order of the table.
struct OtlpMetric {
  const MetricSeries* first;
  std::vector<std::pair<const MetricSeries*, std::vector<const MetricPoint*>>> parts;
};
std::vector<OtlpMetric> metrics_of(const OtlpRequest& request) {
  std::vector<std::vector<const MetricPoint*>> points(request.series.size());
  for (const MetricPoint& point : request.points)
    if (point.series < points.size()) points[point.series].push_back(&point);
  std::vector<OtlpMetric> metrics;
  for (size_t i = 0; i < request.series.size(); ++i) {
    if (points[i].empty()) continue;
    const MetricSeries& series = request.series[i];
    auto found = std::find_if(metrics.begin(), metrics.end(),
                              [&](const OtlpMetric& metric) { return metric.first->name == series.name; });
    if (found == metrics.end()) found = metrics.insert(metrics.end(), OtlpMetric{&series, {}});
    found->parts.emplace_back(&series, std::move(points[i]));
  }
  return metrics;
}

int64_t as_integer(double value) { return static_cast<int64_t>(std::llround(value)); }

std::string proto_value(const OtlpValue& value) {
  std::string out;
  ProtoWriter writer(out);
  if (const auto* text = std::get_if<std::string>(&value)) writer.bytes(1, valid_utf8(*text));
  if (const auto* number = std::get_if<int64_t>(&value)) writer.integer(3, *number);
  if (const auto* words = std::get_if<std::vector<std::string>>(&value)) {
    std::string list;
    for (const std::string& word : *words) ProtoWriter(list).bytes(1, proto_value(word));
    writer.bytes(5, list);
  }
  return out;
}

std::string proto_attribute(std::string_view key, const OtlpValue& value) {
  std::string out;
  ProtoWriter writer(out);
  writer.bytes(1, key);
  writer.bytes(2, proto_value(value));
  return out;
}

// A clock that was set back: a start behind the point makes it no point, and another start would say that the sum began
// anew. Without one it is not known.
bool is_behind_start(const OtlpRequest& request, const MetricPoint& point) { return point.time_ms >= request.start_ms; }

std::string proto_point(const OtlpRequest& request, const MetricSeries& series, const MetricPoint& point) {
  std::string out;
  ProtoWriter writer(out);
  if (is_behind_start(request, point)) writer.fixed64(2, static_cast<uint64_t>(request.start_ms * kNsPerMs));
  writer.fixed64(3, static_cast<uint64_t>(point.time_ms * kNsPerMs));
  if (series.is_integer) writer.fixed64(6, static_cast<uint64_t>(as_integer(point.value)));
  else writer.number(4, point.value);
  for (const auto& [key, value] : series.labels) writer.bytes(7, proto_attribute(key, value));
  return out;
}

std::string proto_metric(const OtlpRequest& request, const OtlpMetric& metric) {
  std::string data;
  for (const auto& [series, points] : metric.parts)
    for (const MetricPoint* point : points) ProtoWriter(data).bytes(1, proto_point(request, *series, *point));
  const OtlpShape shape = metric.first->shape;
  if (shape != OtlpShape::gauge) ProtoWriter(data).integer(2, kCumulative);
  if (shape == OtlpShape::monotonic) ProtoWriter(data).integer(3, 1);
  std::string out;
  ProtoWriter writer(out);
  writer.bytes(1, metric.first->name);
  writer.bytes(3, metric.first->unit);
  writer.bytes(shape == OtlpShape::gauge ? 5 : 7, data);
  return out;
}

void json_value(JsonWriter& json, const OtlpValue& value) {
  json.object();
  if (const auto* text = std::get_if<std::string>(&value)) json.key("stringValue").value(*text);
  if (const auto* number = std::get_if<int64_t>(&value)) json.key("intValue").value(std::to_string(*number));
  if (const auto* words = std::get_if<std::vector<std::string>>(&value)) {
    json.key("arrayValue").object().key("values").array();
    for (const std::string& word : *words) json_value(json, word);
    json.end_array().end_object();
  }
  json.end_object();
}

void json_attribute(JsonWriter& json, std::string_view key, const OtlpValue& value) {
  json.object().key("key").value(key).key("value");
  json_value(json, value);
  json.end_object();
}

void json_point(JsonWriter& json, const OtlpRequest& request, const MetricSeries& series, const MetricPoint& point) {
  json.object();
  if (!series.labels.empty()) {
    json.key("attributes").array();
    for (const auto& [key, value] : series.labels) json_attribute(json, key, value);
    json.end_array();
  }
  if (is_behind_start(request, point)) json.key("startTimeUnixNano").value(std::to_string(request.start_ms * kNsPerMs));
  json.key("timeUnixNano").value(std::to_string(point.time_ms * kNsPerMs));
  if (series.is_integer) {
    json.key("asInt").value(std::to_string(as_integer(point.value)));
  } else {
    char text[32];
    json.key("asDouble").raw({text, std::to_chars(text, text + sizeof text, point.value).ptr});
  }
  json.end_object();
}

void json_metric(JsonWriter& json, const OtlpRequest& request, const OtlpMetric& metric) {
  const OtlpShape shape = metric.first->shape;
  json.object().key("name").value(metric.first->name).key("unit").value(metric.first->unit);
  json.key(shape == OtlpShape::gauge ? "gauge" : "sum").object().key("dataPoints").array();
  for (const auto& [series, points] : metric.parts)
    for (const MetricPoint* point : points) json_point(json, request, *series, *point);
  json.end_array();
  if (shape != OtlpShape::gauge) {
    json.key("aggregationTemporality").integer(kCumulative);
    json.key("isMonotonic").value(shape == OtlpShape::monotonic);
  }
  json.end_object().end_object();
}

}  // namespace

std::string otlp_protobuf(const OtlpRequest& request) {
  std::string scope, resource, scoped, all, out;
  ProtoWriter(scope).bytes(1, "tacho");
  ProtoWriter(scope).bytes(2, request.version);
  ProtoWriter(scoped).bytes(1, scope);
  for (const OtlpMetric& metric : metrics_of(request)) ProtoWriter(scoped).bytes(2, proto_metric(request, metric));
  for (const auto& [key, value] : request.resource) ProtoWriter(resource).bytes(1, proto_attribute(key, value));
  ProtoWriter(all).bytes(1, resource);
  ProtoWriter(all).bytes(2, scoped);
  ProtoWriter(out).bytes(1, all);
  return out;
}

std::string otlp_json_part(const OtlpRequest& request) {
  Writer out;
  JsonWriter json(out);
  json.object().key("resource").object().key("attributes").array();
  for (const auto& [key, value] : request.resource) json_attribute(json, key, value);
  json.end_array().end_object();
  json.key("scopeMetrics").array().object();
  json.key("scope").object().key("name").value("tacho").key("version").value(request.version).end_object();
  json.key("metrics").array();
  for (const OtlpMetric& metric : metrics_of(request)) json_metric(json, request, metric);
  json.end_array().end_object().end_array().end_object();
  return std::string(out.view());
}

std::string otlp_json_request(std::string_view parts) { return "{\"resourceMetrics\":[" + std::string(parts) + "]}"; }

}  // namespace tacho
