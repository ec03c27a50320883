// JSON logs: one object a line. A metric is a member of that name, or the KEP form {"metric": "loss", "value": 0.3}.
// Every line is checked as a whole before any of its rows is passed on.
#include <algorithm>
#include <cmath>

#include "base/log.h"
#include "base/text.h"
#include "katib/read/json_line.h"
#include "katib/read/json_time.h"
#include "katib/read/line_reader.h"
#include "katib/read/readers.h"

namespace tacho {
namespace {

// A member of the present line; the memory of its text is kept from line to line.
struct Slot {
  bool present = false;
  JsonKind kind = JsonKind::null;
  std::string text;

  void set(const JsonMember& member) {
    present = true;
    kind = member.kind;
    text.assign(member.text);
  }
  bool is_scalar() const { return present && (kind == JsonKind::string || kind == JsonKind::number); }
};

std::optional<int64_t> as_integer(const Slot& slot) {
  if (!slot.present || slot.kind != JsonKind::number) return std::nullopt;
  if (const auto whole = parse_int<int64_t>(slot.text)) return whole;
  const auto number = parse_double(slot.text);  // 3.0, 1e3
  constexpr double kExact = 9'007'199'254'740'992.0;
  if (!number || std::abs(*number) > kExact || *number != std::trunc(*number)) return std::nullopt;
  return static_cast<int64_t>(*number);
}

class JsonLogReader final : public LineReader {
 public:
  JsonLogReader(std::string path, ReaderOptions options)
      : LineReader(std::move(path), std::move(options)), metrics_(options_.metrics.size()) {
    const auto requested = [&](const char* name) {
      return std::find(options_.metrics.begin(), options_.metrics.end(), name) != options_.metrics.end();
    };
    may_be_kep_ = !requested("metric") && !requested("value");
  }

 private:
  Result<size_t> parse(std::string_view lines, size_t limit, const Take& take) override {
    const size_t enough = taken_ + limit;
    for (size_t at = 0; at < lines.size();) {
      const size_t end = std::min(lines.find('\n', at), lines.size());
      line_at_ = at;
      if (end > at && !parse_line(lines.substr(at, end - at), take)) {
        ++bad_lines_;
        const std::string what =
            "a line of the JSON log is no JSON object: " + valid_utf8(lines.substr(at, std::min<size_t>(end - at, 80)));
        if (options_.bad_line == BadLine::fail)
          return Error{Code::invalid, what, "", "--bad-line skip passes over such lines"};
        if (bad_lines_ == 1) log::warn(what + " (such lines are skipped)");
      }
      at = end + 1;
      if (taken_ >= enough) return std::min(at, lines.size());
    }
    return lines.size();
  }

  // {"timestamp": "2026-11-15T09:30:00Z", "accuracy": "0.91", "loss": 0.12, "step": 3}
  bool parse_line(std::string_view line, const Take& take) {
    for (Slot& slot : metrics_) slot.present = false;
    time_.present = metric_.present = value_.present = step_.present = epoch_.present = false;
    if (!json_.parse(line, [&](const JsonMember& member) { store(member); })) return false;

    const bool kep = may_be_kep_ && metric_.present && metric_.kind == JsonKind::string && value_.is_scalar();
    row_time_.reset();
    for (size_t i = 0; i < metrics_.size(); ++i) {
      const std::string& name = options_.metrics[i];
      if (metrics_[i].is_scalar()) pass_on(name, metrics_[i].text, take);
      if (kep && metric_.text == name) pass_on(name, value_.text, take);
    }
    return true;
  }

  // The last of several members of one name counts.
  void store(const JsonMember& member) {
    for (size_t i = 0; i < metrics_.size(); ++i)
      if (options_.metrics[i] == member.key) metrics_[i].set(member);
    if (member.key == "timestamp") time_.set(member);
    else if (member.key == "metric") metric_.set(member);
    else if (member.key == "value") value_.set(member);
    else if (member.key == "step") step_.set(member);
    else if (member.key == "epoch") epoch_.set(member);
  }

  void pass_on(const std::string& name, const std::string& text, const Take& take) {
    const auto value = values_.judge(name, text);
    if (!value) return;
    if (!row_time_) row_time_ = line_time();
    count_row(*value);
    take({*row_time_, name, *value, as_integer(step_), as_integer(epoch_)});
  }

  TimeStamp line_time() {
    if (!options_.with_times) return missing_time();
    if (time_.present && time_.kind == JsonKind::string)
      if (TimeStamp own(time_.text); own.us()) return own;
    if (time_.present && time_.kind == JsonKind::number) {
      const auto time =
          options_.json_time == JsonTime::exact ? json_time_exact(time_.text) : json_time_by_digits(time_.text);
      if (time) return *time;
    }
    return missing_time();
  }

  JsonLine json_;
  std::vector<Slot> metrics_;  // in the order of -m
  Slot time_, metric_, value_, step_, epoch_;
  std::optional<TimeStamp> row_time_;
  bool may_be_kep_;
};

}  // namespace

std::unique_ptr<Reader> make_json_reader(std::string path, ReaderOptions options) {
  return std::make_unique<JsonLogReader>(std::move(path), std::move(options));
}

}  // namespace tacho
