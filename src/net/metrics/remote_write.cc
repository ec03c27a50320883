#include "net/metrics/remote_write.h"

#include <snappy-c.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "net/metrics/protobuf.h"

namespace tacho {
namespace {

std::string label_text(std::string_view text) {
  std::string clean = valid_utf8(text);
  for (char& c : clean)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f) c = ' ';
  return clean;
}

void put_label(std::string& out, std::string_view name, std::string_view value) {
  std::string label;
  ProtoWriter writer(label);
  writer.bytes(1, name);
  writer.bytes(2, value);
  ProtoWriter(out).bytes(1, label);
}

void put_sample(std::string& out, const MetricPoint& point) {
  std::string sample;
  ProtoWriter writer(sample);
  writer.number(1, point.value);
  writer.integer(2, point.time_ms);
  ProtoWriter(out).bytes(2, sample);
}

}  // namespace

SeriesLabels sorted_labels(const MetricSeries& series, const SeriesLabels& common) {
  SeriesLabels labels{{"__name__", series.name}};
  for (const SeriesLabels* some : {&series.labels, &common})
    for (const auto& [name, value] : *some)
      if (std::string text = label_text(value); !text.empty()) labels.emplace_back(name, std::move(text));
  std::stable_sort(labels.begin(), labels.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  const auto twice = [](const auto& a, const auto& b) { return a.first == b.first; };
  labels.erase(std::unique(labels.begin(), labels.end(), twice), labels.end());
  return labels;
}

std::string write_request(std::span<const MetricSeries> series, const SeriesLabels& common,
                          std::span<const MetricPoint> points) {
  std::vector<std::string> samples(series.size());
  for (const MetricPoint& point : points)
    if (point.series < samples.size()) put_sample(samples[point.series], point);
  std::string request;
  for (size_t i = 0; i < series.size(); ++i) {
    if (samples[i].empty()) continue;
    std::string one;
    for (const auto& [name, value] : sorted_labels(series[i], common)) put_label(one, name, value);
    one += samples[i];
    ProtoWriter(request).bytes(1, one);
  }
  return request;
}

std::string snappy_block(std::string_view text) {
  std::string block(::snappy_max_compressed_length(text.size()), '\0');
  size_t bytes = block.size();
  if (::snappy_compress(text.data(), text.size(), block.data(), &bytes) != SNAPPY_OK) return {};
  block.resize(bytes);
  return block;
}

std::string openmetrics_line(const SeriesLabels& labels, const MetricPoint& point) {
  std::string name, inside;
  for (const auto& [key, value] : labels) {
    if (key == "__name__") {
      name = value;
      continue;
    }
    inside += (inside.empty() ? "" : ",") + key + "=\"";
    for (const char c : value) {
      if (c == '\\' || c == '"') inside += '\\';
      if (c == '\n') inside += "\\n";
      else inside += c;
    }
    inside += '"';
  }
  char number[32];
  const auto end = std::to_chars(number, number + sizeof number, point.value).ptr;
  std::string value(number, end);
  if (std::isnan(point.value)) value = "NaN";
  std::string ms = std::to_string(std::abs(point.time_ms % 1000));
  ms.insert(0, 3 - ms.size(), '0');
  return name + "{" + inside + "} " + value + " " + std::to_string(point.time_ms / 1000) + "." + ms + "\n";
}

}  // namespace tacho
