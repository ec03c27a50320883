// One line of a scraped page: Prometheus' text format 0.0.4 and OpenMetrics 1.0. Pure; views into the line; no
// allocation.
//   http_requests_total{method="post",code="200"} 1027 1395066363000
//   loss_bucket{le="0.1"} 8 # {trace_id="abc"} 0.07 1520879607.789
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tacho {

enum class Exposition { text, openmetrics };
// By the Content-Type header; text where it does not say otherwise.
Exposition exposition_of(std::string_view content_type);

struct ExpositionSample {
  std::string_view name;
  std::string_view labels;  // between the braces, as written
  std::string_view value;   // a number, as written
  std::string_view time;    // as written; empty when there is none
};

enum class ExpositionLine { sample, other, end, bad };  // other: empty, or a comment; end: "# EOF"
ExpositionLine parse_exposition(std::string_view line, Exposition format, ExpositionSample& sample);
// The name alone, to tell at once whether a line is of interest.
std::string_view sample_name(std::string_view line);

// The sample's own time: integer milliseconds (text) or decimal seconds (OpenMetrics), as seconds and nanoseconds.
std::optional<std::pair<int64_t, int64_t>> sample_time(std::string_view time, Exposition format);

// The labels of a sample, one after the other; `value` is without escapes and good until the next call.
class Labels {
 public:
  explicit Labels(std::string_view text) : text_(text) {}
  bool next(std::string_view& name, std::string_view& value);
  bool broken() const { return broken_; }
  std::string_view rest() const { return text_; }

 private:
  std::string_view text_;
  std::string scratch_;
  bool first_ = true, broken_ = false;
};

// "nan", "-Inf", "1e-3", "0x1p-2": a number as Go reads floats.
bool is_float(std::string_view text);
// A metric's or a label's name at the front of text.
size_t name_length(std::string_view text, bool colons);

}  // namespace tacho
