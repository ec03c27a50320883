#include "report/store/csv_reader.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "report/store/csv_fields.h"

namespace tacho {
namespace {

Error not_metrics(const std::string& path) {
  return {Code::invalid, "this is not a metrics CSV", path,
          "its first line must name the columns and begin with timestamp"};
}

constexpr int kLinesAhead = 32;

// To the microsecond: a time of today as a double is known to a quarter of one, and shares of rows must not show that.
int64_t between(double before_s, double now_s) {
  return std::llround(std::max(0.0, now_s - before_s) * 1e6) * kNsPerUs;
}

int decimals_of(std::string_view field) {
  const size_t dot = field.find('.');
  return dot == std::string_view::npos ? 0 : static_cast<int>(std::min<size_t>(9, field.size() - dot - 1));
}

}  // namespace

bool is_per_interval(std::string_view column) {
  for (const std::string_view end : {"_bytes", "time", "_iowait", "_steal", "_switches", "_faults", "_kills",
                                     "_periods", "_drops", "_errors", "_retransmits", "_requests", "_energy_j"})
    if (column.ends_with(end)) return true;
  return false;
}

Status CsvReader::open(const std::string& path) {
  if (const Status status = lines_.open(path); !status) return status;
  if (!lines_.next(line_)) return not_metrics(path);
  if (line_.starts_with("\xEF\xBB\xBF")) line_.remove_prefix(3);  // spreadsheets put it there
  std::string unquoted;
  for (FieldSplitter fields(line_); fields.next();) columns_.emplace_back(trim(fields.text(unquoted)));
  if (columns_.empty() || columns_[0] != "timestamp") return not_metrics(path);
  decimals_.assign(columns_.size(), -1);
  note_first_rows();
  return ok();
}

// Who folds the rows asks for the schema before the first of them is read. What follows the header in memory tells; a
// column that is empty there is learnt with its first value.
void CsvReader::note_first_rows() {
  std::string_view rest = lines_.behind(line_);
  std::string unquoted;
  for (int left = kLinesAhead; left > 0; --left) {
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos) return;
    size_t column = 0;
    for (FieldSplitter fields(rest.substr(0, end)); fields.next() && column < columns_.size(); ++column) {
      const std::string_view field = trim(fields.text(unquoted));
      if (parse_double(field)) decimals_[column] = std::max(decimals_[column], decimals_of(field));
    }
    rest.remove_prefix(end + 1);
  }
}

bool CsvReader::parse(Row& row) {
  row.cells.resize(columns_.size());
  const char *at = line_.data(), *end = at + line_.size();
  for (size_t i = 0; i < columns_.size(); ++i) {
    const char* begin = at;
    double& cell = row.cells[i];
    if (!take_number(at, end, cell)) return false;
    if (decimals_[i] < 0 && !is_absent(cell)) decimals_[i] = decimals_of({begin, static_cast<size_t>(at - begin)});
    const bool last = i + 1 == columns_.size();
    if ((at == end) != last) return false;
    ++at;
  }
  return !is_absent(row.cells[0]) && row.cells[0] >= 0 && row.cells[0] < 9e9;
}

// The row behind has an earlier time: then this one was written a millisecond after the last, whatever time passed.
bool CsvReader::falls_next(double now_s) {
  const std::string_view rest = lines_.behind(line_);
  const auto next_s = parse_double(rest.substr(0, rest.find_first_of(",\n")));
  return rest.find('\n') != std::string_view::npos && next_s && *next_s < now_s;
}

bool CsvReader::next(Row& row) {
  while (lines_.next(line_)) {
    if (!parse(row)) {
      ++skipped_;
      continue;
    }
    const double now_s = row.cells[0];
    row.realtime_ns = static_cast<int64_t>(std::llround(now_s * 1e3)) * kNsPerMs;
    row.interval_ns = is_absent(last_s_) ? 0 : between(last_s_, now_s);
    const bool fell = !is_absent(last_s_) && now_s < last_s_;
    if (fell || (row.interval_ns < 2 * kNsPerMs && rows_ > 0 && falls_next(now_s))) row.interval_ns = last_interval_ns_;
    last_interval_ns_ = row.interval_ns;
    row.index = rows_++;
    if (row.index == 0) first_line_ = line_;
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
