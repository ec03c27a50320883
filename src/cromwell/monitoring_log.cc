#include "cromwell/monitoring_log.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"
#include "base/time_text.h"
#include "base/units.h"
#include "cromwell/cromwell_client.h"

namespace tacho {
namespace {

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t at = 0; at < text.size();) {
    const size_t from = text.find_first_not_of(" \t\r,", at);
    if (from == std::string_view::npos) break;
    at = std::min(text.find_first_of(" \t\r,", from), text.size());
    words.push_back(text.substr(from, at - from));
  }
  return words;
}

// A number above zero; the scripts print 0 where they could not read.
std::optional<double> positive(std::string_view text) {
  const auto number = parse_double(trim(text));
  return number && *number > 0 ? number : std::nullopt;
}

// "7.5G", "512M": M is a thousandth.
std::optional<double> gigabytes(std::string_view text) {
  text = trim(text);
  if (text.empty()) return std::nullopt;
  const char unit = text.back();
  if (unit == 'G' || unit == 'M') text.remove_suffix(1);
  const auto number = positive(text);
  return number && unit == 'M' ? *number / 1000 : number;
}

std::optional<double> percent(std::string_view text) {
  text = trim(text);
  if (text.ends_with('%')) text.remove_suffix(1);
  return positive(text);
}

// What stands behind "#CPU: " and the like; nothing when the line is another one.
std::optional<std::string_view> behind(std::string_view line, std::string_view label) {
  if (!line.starts_with(label)) return std::nullopt;
  return trim(line.substr(label.size()));
}

int month_of(std::string_view name) {
  constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  for (size_t i = 0; i < kMonths.size(); ++i)
    if (kMonths[i] == name) return static_cast<int>(i + 1);
  return 0;
}

bool is_weekday(std::string_view word) {
  constexpr std::array<std::string_view, 7> kDays = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
  for (const std::string_view day : kDays)
    if (day == word) return true;
  return false;
}

}  // namespace

std::optional<int64_t> parse_date_output(std::string_view text) {
  const auto words = words_of(text);
  if (words.size() != 6 || !is_weekday(words[0]) || words[4] != "UTC") return std::nullopt;
  const int month = month_of(words[1]);
  const auto day = parse_int<int>(words[2]);
  const auto year = parse_int<int>(words[5]);
  const auto clock = split(words[3], ':');
  if (month == 0 || !day || !year || *year < 1970 || *year > 2261 || clock.size() != 3) return std::nullopt;
  const auto hour = parse_int<int>(clock[0]), minute = parse_int<int>(clock[1]), second = parse_int<int>(clock[2]);
  if (!hour || !minute || !second || *hour < 0 || *hour > 23 || *minute < 0 || *minute > 59 || *second < 0 ||
      *second > 60)
    return std::nullopt;
  const auto days = days_since_1970(*year, month, *day);
  if (!days) return std::nullopt;
  return (*days * 86'400 + *hour * 3'600 + *minute * 60 + *second) * kNsPerSec;
}

std::optional<double> MonitoringLog::share(std::optional<double> part, const std::optional<double>& total) const {
  if (!part || !total) return std::nullopt;
  return *part * *total / 100;
}

void MonitoringLog::line(std::string_view text) {
  text = trim(text);
  if (text.empty()) return;
  if (in_header_) {
    header(text);
    return;
  }
  if (!block_line(text) && !one_line_record(text)) ++bad_lines_;
}

// #CPU: 4
// Total Memory: 15.0G
// Total Disk space: 100G
// --- Runtime Information ---
void MonitoringLog::header(std::string_view text) {
  if (text.find("Runtime Information") != std::string_view::npos) in_header_ = false;
  else if (const auto cpus = behind(text, "#CPU:")) cpus_ = positive(*cpus);
  else if (const auto memory = behind(text, "Total Memory:")) memory_gb_ = gigabytes(*memory);
  else if (const auto disk = behind(text, "Total Disk space:")) disk_gb_ = gigabytes(*disk);
}

// 12.5 40.1 3.2G Mon Jan  2 15:04:05 UTC 2006
bool MonitoringLog::one_line_record(std::string_view text) {
  const auto words = words_of(text);
  if (words.size() < 3 || is_weekday(words[0])) return false;
  size_t date = words.size();
  for (size_t i = 0; i < words.size() && date == words.size(); ++i)
    if (is_weekday(words[i])) date = i;
  if (date == words.size() || date > 4) return false;
  LogSample sample;
  const std::string_view when = text.substr(static_cast<size_t>(words[date].data() - text.data()));
  sample.time_ns = parse_date_output(when);
  if (!sample.time_ns) return false;
  if (date == 3) {
    sample.cpu = share(percent(words[0]), cpus_);
    sample.memory = share(percent(words[1]), memory_gb_);
    sample.disk = gigabytes(words[2]);
  }
  emit(sample);
  return true;
}

// [Mon Jan  2 15:04:05 UTC 2006]
// * CPU usage: 12.5%
// * Memory usage: 40.1%
// * Disk usage: 3%
bool MonitoringLog::block_line(std::string_view text) {
  if (text.front() == '[' && text.back() == ']') {
    finish();
    block_.emplace();
    block_->time_ns = parse_date_output(text.substr(1, text.size() - 2));
    return block_->time_ns.has_value();
  }
  if (text.front() != '*') return false;
  text = trim(text.substr(1));
  if (!block_) return false;
  if (const auto cpu = behind(text, "CPU usage:")) block_->cpu = share(percent(*cpu), cpus_);
  else if (const auto memory = behind(text, "Memory usage:")) block_->memory = share(percent(*memory), memory_gb_);
  else if (const auto disk = behind(text, "Disk usage:")) block_->disk = share(percent(*disk), disk_gb_);
  else return false;
  return true;
}

void MonitoringLog::emit(const LogSample& sample) {
  ++samples_;
  take_(sample);
}

void MonitoringLog::finish() {
  if (block_ && block_->time_ns) emit(*block_);
  block_.reset();
}

Result<LogPlace> parse_log_path(std::string_view path) {
  const auto parts = split(path, '/');
  size_t call = parts.size();
  for (size_t i = parts.size(); i-- > 2 && call == parts.size();)
    if (parts[i].starts_with("call-") && parts[i].size() > 5 && is_workflow_id(parts[i - 1])) call = i;
  if (call == parts.size())
    return Error{Code::invalid, "the path does not say whose log this is", std::string(path),
                 "…/WORKFLOW/ID/call-NAME/monitoring.log, or name them with --workflow-name --workflow-id --call"};
  LogPlace place{std::string(parts[call - 2]), std::string(parts[call - 1]), std::string(parts[call].substr(5))};
  for (size_t i = call + 1; i < parts.size(); ++i) {
    if (parts[i].starts_with("shard-")) place.shard = parse_int<int64_t>(parts[i].substr(6)).value_or(place.shard);
    const size_t attempt = parts[i].find("attempt-");
    if (attempt != std::string_view::npos)
      place.attempt = parse_int<int64_t>(parts[i].substr(attempt + 8)).value_or(place.attempt);
  }
  return place;
}

}  // namespace tacho
