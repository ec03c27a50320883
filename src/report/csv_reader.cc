#include "report/csv_reader.h"

#include <algorithm>
#include <cerrno>
#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "os/file.h"

namespace tacho {
namespace {

constexpr size_t kChunkBytes = 64 * 1024;
// No row is that long: what has no newline for so long is not a metrics file.
constexpr size_t kLongestLine = 1 << 20;

Error not_metrics(const std::string& path) {
  return {Code::invalid, "this is not a metrics CSV", path,
          "its first line must name the columns and begin with timestamp"};
}

}  // namespace

bool is_per_interval(std::string_view column) {
  for (const std::string_view end : {"_bytes", "time", "_iowait", "_steal", "_switches", "_faults", "_kills",
                                     "_periods", "_drops", "_errors", "_retransmits", "_requests", "_energy_j"})
    if (column.ends_with(end)) return true;
  return false;
}

Status CsvReader::open(const std::string& path) {
  errno = 0;
  file_.open(path, std::ios::binary);
  if (!file_) return system_error("cannot open", path, errno != 0 ? errno : EIO);
  chunk_.resize(kChunkBytes);
  std::string header;
  if (!next_line(header)) return not_metrics(path);
  for (const std::string_view name : split(header, ',')) columns_.emplace_back(trim(name));
  if (columns_.empty() || columns_[0] != "timestamp") return not_metrics(path);
  decimals_.assign(columns_.size(), -1);
  return ok();
}

bool CsvReader::fill() {
  if (ended_) return false;
  file_.read(chunk_.data(), static_cast<std::streamsize>(chunk_.size()));
  const std::string_view bytes(chunk_.data(), static_cast<size_t>(file_.gcount()));
  if (text_.empty() && at_ == 0 && columns_.empty() && !compressed_) compressed_ = GzipDecoder::is_gzip(bytes);
  text_.erase(0, at_);
  at_ = 0;
  if (bytes.empty()) ended_ = true;
  else if (!compressed_) text_ += bytes;
  else if (!gunzip_.decode(bytes, text_)) ended_ = true;
  return !ended_ || !text_.empty();
}

// Only whole lines: one without its LF is still being written, or was torn by a kill.
bool CsvReader::next_line(std::string& line) {
  for (size_t searched = at_;;) {
    const size_t end = text_.find('\n', searched);
    if (end != std::string::npos) {
      line.assign(text_, at_, end - at_);
      at_ = end + 1;
      return true;
    }
    searched = text_.size() - at_;
    if (searched > kLongestLine || ended_ || !fill()) return false;
  }
}

bool CsvReader::parse(std::string_view line, Row& row) {
  row.cells.assign(columns_.size(), kAbsent);
  size_t count = 0;
  for (;; ++count) {
    const size_t comma = line.find(',');
    const std::string_view field = line.substr(0, comma);
    if (count >= columns_.size()) return false;
    if (!field.empty()) {
      const auto value = parse_double(field);
      if (!value) return false;
      row.cells[count] = *value;
      if (decimals_[count] < 0) {
        const size_t dot = field.find('.');
        decimals_[count] =
            dot == std::string_view::npos ? 0 : static_cast<int>(std::min<size_t>(9, field.size() - dot - 1));
      }
    }
    if (comma == std::string_view::npos) break;
    line.remove_prefix(comma + 1);
  }
  return count + 1 == columns_.size() && !is_absent(row.cells[0]) && row.cells[0] >= 0 && row.cells[0] < 9e9;
}

// The row behind has an earlier time: then this one was written a millisecond after the last, whatever time passed.
bool CsvReader::falls_next(double now_s) {
  if (text_.find('\n', at_) == std::string::npos && !ended_) fill();
  const std::string_view rest = std::string_view(text_).substr(at_);
  const auto next_s = parse_double(rest.substr(0, rest.find_first_of(",\n")));
  return rest.find('\n') != std::string_view::npos && next_s && *next_s < now_s;
}

bool CsvReader::next(Row& row) {
  while (next_line(line_)) {
    if (line_.ends_with('\r')) line_.pop_back();
    if (!parse(line_, row)) {
      ++skipped_;
      continue;
    }
    const double now_s = row.cells[0];
    row.realtime_ns = static_cast<int64_t>(std::llround(now_s * 1e3)) * kNsPerMs;
    row.interval_ns = is_absent(last_s_) ? 0 : static_cast<int64_t>(std::llround(std::max(0.0, now_s - last_s_) * 1e9));
    const bool fell = !is_absent(last_s_) && now_s < last_s_;
    if (fell || (row.interval_ns < 2 * kNsPerMs && rows_ > 0 && falls_next(now_s))) row.interval_ns = last_interval_ns_;
    last_interval_ns_ = row.interval_ns;
    row.index = rows_++;
    last_s_ = now_s;
    return true;
  }
  return false;
}

Schema CsvReader::schema() const {
  Schema schema;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const Rule rule = is_per_interval(columns_[i]) ? Rule::delta : Rule::level;
    schema.push_back({static_cast<int>(i) + 1, columns_[i], "", std::max(0, decimals_[i]), rule, 0, 1, "", nullptr});
  }
  return schema;
}

}  // namespace tacho
