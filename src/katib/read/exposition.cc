#include "katib/read/exposition.h"

#include <charconv>

#include "base/text.h"
#include "base/units.h"
#include "katib/read/utc_time.h"
#include "katib/read/value_rule.h"

namespace tacho {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::string_view skip_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  return text;
}

std::string_view take_word(std::string_view& text) {
  text = skip_blanks(text);
  size_t size = 0;
  while (size < text.size() && !is_blank(text[size])) ++size;
  const std::string_view word = text.substr(0, size);
  text = skip_blanks(text.substr(size));
  return word;
}

// The length of the labels up to the closing brace, which may stand in quotes before; npos when there is none.
size_t labels_length(std::string_view text) {
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') ++i;
    else if (text[i] == '"') quoted = !quoted;
    else if (!quoted && text[i] == '}') return i;
  }
  return std::string_view::npos;
}

bool are_labels(std::string_view text) {
  Labels labels(text);
  std::string_view name, value;
  while (labels.next(name, value)) {}
  return !labels.broken();
}

}  // namespace

Exposition exposition_of(std::string_view content_type) {
  const std::string type = lower(trim(content_type.substr(0, content_type.find(';'))));
  return type == "application/openmetrics-text" ? Exposition::openmetrics : Exposition::text;
}

size_t name_length(std::string_view text, bool colons) {
  size_t size = 0;
  for (; size < text.size(); ++size) {
    const char c = text[size], letter = static_cast<char>(c | 0x20);
    const bool fits =
        (letter >= 'a' && letter <= 'z') || c == '_' || (colons && c == ':') || (size > 0 && c >= '0' && c <= '9');
    if (!fits) break;
  }
  return size;
}

std::string_view sample_name(std::string_view line) {
  line = skip_blanks(line);
  return line.substr(0, name_length(line, true));
}

bool is_float(std::string_view text) {
  if (non_finite(text)) return true;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
  const bool hex = text.size() > 2 && text[0] == '0' && (text[1] | 0x20) == 'x';
  if (hex) text.remove_prefix(2);
  const bool starts =
      !text.empty() && (text[0] == '.' || (text[0] >= '0' && text[0] <= '9') || (hex && (text[0] | 0x20) >= 'a'));
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value,
                                            hex ? std::chars_format::hex : std::chars_format::general);
  return starts && error == std::errc{} && end == text.data() + text.size();
}

// label="a \"quoted\" value",other="x"
bool Labels::next(std::string_view& name, std::string_view& value) {
  const auto fail = [&] {
    broken_ = true;
    return false;
  };
  text_ = skip_blanks(text_);
  if (text_.empty() || broken_) return false;
  if (!first_) {
    if (text_.front() != ',') return fail();
    text_ = skip_blanks(text_.substr(1));
    if (text_.empty()) return false;  // a comma behind the last one is allowed
  }
  first_ = false;
  const size_t size = name_length(text_, false);
  if (size == 0) return fail();
  name = text_.substr(0, size);
  text_ = skip_blanks(text_.substr(size));
  if (!text_.starts_with('=')) return fail();
  text_ = skip_blanks(text_.substr(1));
  if (!text_.starts_with('"')) return fail();
  size_t end = 1;
  bool escaped = false;
  for (; end < text_.size() && text_[end] != '"'; ++end)
    if (text_[end] == '\\') escaped = true, ++end;
  if (end >= text_.size()) return fail();
  value = text_.substr(1, end - 1);
  text_.remove_prefix(end + 1);
  if (!escaped) return true;
  scratch_.clear();
  for (size_t i = 0; i < value.size(); ++i) {
    const bool escape = value[i] == '\\' && i + 1 < value.size() &&
                        (value[i + 1] == '\\' || value[i + 1] == '"' || value[i + 1] == 'n');
    if (escape) ++i;
    scratch_ += escape && value[i] == 'n' ? '\n' : value[i];
  }
  value = scratch_;
  return true;
}

ExpositionLine parse_exposition(std::string_view line, Exposition format, ExpositionSample& sample) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (format == Exposition::openmetrics && line == "# EOF") return ExpositionLine::end;
  line = skip_blanks(line);
  if (line.empty() || line.front() == '#') return ExpositionLine::other;
  sample = {};
  sample.name = line.substr(0, name_length(line, true));
  if (sample.name.empty()) return ExpositionLine::bad;
  std::string_view rest = skip_blanks(line.substr(sample.name.size()));
  if (rest.starts_with('{')) {
    rest.remove_prefix(1);
    const size_t size = labels_length(rest);
    if (size == std::string_view::npos) return ExpositionLine::bad;
    sample.labels = rest.substr(0, size);
    rest.remove_prefix(size + 1);
    if (!are_labels(sample.labels)) return ExpositionLine::bad;
  } else if (rest.size() + sample.name.size() == line.size()) {
    return ExpositionLine::bad;  // no blank between name and value
  }
  sample.value = take_word(rest);
  if (!is_float(sample.value)) return ExpositionLine::bad;
  if (format == Exposition::openmetrics && rest.starts_with("# ")) return ExpositionLine::sample;
  sample.time = take_word(rest);
  if (!sample.time.empty() && !sample_time(sample.time, format)) return ExpositionLine::bad;
  const bool exemplar = format == Exposition::openmetrics && rest.starts_with("# ");
  return rest.empty() || exemplar ? ExpositionLine::sample : ExpositionLine::bad;
}

std::optional<std::pair<int64_t, int64_t>> sample_time(std::string_view time, Exposition format) {
  if (format == Exposition::openmetrics) return decimal_seconds(time.starts_with('+') ? time.substr(1) : time);
  const auto milliseconds = parse_int<int64_t>(time);
  if (!milliseconds) return std::nullopt;
  return std::pair(*milliseconds / 1000, *milliseconds % 1000 * kNsPerMs);
}

}  // namespace tacho
