#include "deliver/restore.h"

#include "base/crc32c.h"
#include "os/file.h"

namespace tacho {
namespace {

constexpr size_t kLargestStore = size_t{64} << 20;

// Behind so many line ends from `from` on; npos when there are fewer.
size_t behind_lines(std::string_view text, size_t from, int64_t lines) {
  for (; lines > 0 && from != std::string_view::npos; --lines) {
    from = text.find('\n', from);
    if (from != std::string_view::npos) ++from;
  }
  return from;
}

}  // namespace

bool restore_segment(const SpoolRun& run, const Segment& segment, const std::string& store_folder) {
  if (store_folder.empty()) return false;
  const auto stored = read_whole_file(store_folder + "/metrics.csv", kLargestStore);
  if (!stored) return false;
  int64_t rows_before = 0;
  for (const auto& others : {run.sealed(), run.missing()})
    for (const Segment& other : others)
      if (other.seal.number < segment.seal.number) rows_before += other.seal.rows;
  const std::string_view text = *stored;
  const size_t header_end = behind_lines(text, 0, 1);
  const size_t begin = behind_lines(text, header_end, rows_before), end = behind_lines(text, begin, segment.seal.rows);
  if (end == std::string_view::npos) return false;
  const std::string csv = std::string(text.substr(0, header_end)).append(text.substr(begin, end - begin));
  if (static_cast<int64_t>(csv.size()) != segment.seal.bytes || crc32c(csv) != segment.seal.crc) return false;
  return static_cast<bool>(run.replace(segment, csv, segment.seal.rows));
}

}  // namespace tacho
