#include "query/sample_file.h"

#include <algorithm>

#include "base/text.h"
#include "report/store/csv_fields.h"

namespace tacho {

bool SampleFile::open(const std::string& path) {
  lines_ = std::make_unique<RecordLines>();
  std::string_view line;
  if (lines_->open(path) && lines_->next(line) && read_header(line)) return true;
  close();
  return false;
}

// The files of a store mostly have the same one: it is worked through once.
bool SampleFile::read_header(std::string_view line) {
  if (fields_ > 0 && line == header_) return true;
  header_ = line;
  fields_ = 0;
  if (line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  field_of_.assign(names_.size(), -1);
  std::string room;
  bool is_first = true, is_metrics = false;
  for (FieldSplitter fields(line); fields.next(); ++fields_, is_first = false) {
    const std::string_view name = trim(fields.text(room));
    if (is_first) is_metrics = name == "timestamp";
    const auto column = std::find(names_.begin(), names_.end(), name);
    if (column != names_.end()) field_of_[static_cast<size_t>(column - names_.begin())] = static_cast<int32_t>(fields_);
  }
  if (!is_metrics) fields_ = 0;
  return is_metrics;
}

// A comma within quotes ends no field: such a line is gone through slowly.
bool SampleFile::split() {
  ends_.clear();
  const char *begin = line_.data(), *end = begin + line_.size();
  if (line_.find('"') == std::string_view::npos) {
    for (const char* at = begin; at != end; ++at)
      if (*at == ',') ends_.push_back(static_cast<uint32_t>(at - begin));
    ends_.push_back(static_cast<uint32_t>(line_.size()));
  } else {
    double ignored;
    for (const char* at = begin;; ++at) {
      if (!take_number(at, end, ignored)) return false;
      ends_.push_back(static_cast<uint32_t>(at - begin));
      if (at == end) break;
    }
  }
  if (ends_.size() != fields_) return false;
  const char* at = begin;
  double timestamp;
  return take_number(at, end, timestamp) && timestamp >= 0 && timestamp < 9e9;
}

bool SampleFile::next() {
  while (lines_ && lines_->next(line_))
    if (split()) return true;
  return false;
}

std::string_view SampleFile::field(size_t index) const {
  const uint32_t from = index == 0 ? 0 : ends_[index - 1] + 1;
  return line_.substr(from, ends_[index] - from);
}

Cell SampleFile::cell(size_t column) const {
  const int32_t index = field_of_[column];
  if (index < 0) return {};
  const std::string_view text = field(static_cast<size_t>(index));
  if (text.empty()) return {};
  if (const auto whole = parse_int<int64_t>(text)) return *whole;
  const char* at = text.data();
  double value;
  return take_number(at, at + text.size(), value) ? known(value) : Cell{};
}

}  // namespace tacho
