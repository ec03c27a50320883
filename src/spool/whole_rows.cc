#include "spool/whole_rows.h"

#include <algorithm>

#include "spool/bq_record.h"
#include "spool/layout.h"

namespace tacho {

// In place: a segment has megabytes.
int64_t keep_whole_csv(std::string& text) {
  size_t kept = 0, lines = 0;
  std::ptrdiff_t fields = 0;
  for (size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    const std::string_view line = std::string_view(text).substr(at, end + 1 - at);
    const std::ptrdiff_t commas = std::count(line.begin(), line.end(), ',');
    if (lines == 0) fields = commas;
    const bool whole = commas == fields && line.find('\0') == std::string_view::npos;
    if (!whole && lines == 0) break;
    if (!whole) continue;
    if (kept < at) std::copy(line.begin(), line.end(), text.begin() + static_cast<std::ptrdiff_t>(kept));
    kept += line.size();
    ++lines;
  }
  text.resize(kept);
  return lines > 0 ? static_cast<int64_t>(lines) - 1 : 0;
}

int64_t keep_whole_rows(std::string_view ending, std::string& text) {
  if (ending != kRecordsEnding) return keep_whole_csv(text);
  // What is damaged in the middle stays where it is: whoever reads records passes over it.
  int64_t rows = 0;
  text.resize(whole_bq_records(text, &rows));
  return rows;
}

}  // namespace tacho
