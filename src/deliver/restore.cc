#include "deliver/restore.h"

#include <algorithm>

#include "base/crc32c.h"
#include "os/owned_folder.h"

namespace tacho {

bool restore_segment(const SpoolRun& run, const Segment& segment, const std::string& store_folder) {
  if (store_folder.empty()) return false;
  int64_t rows_before = 0;
  for (const auto& others : {run.sealed(), run.missing()})
    for (const Segment& other : others)
      if (other.seal.number < segment.seal.number) rows_before += other.seal.rows;
  const int64_t end = 1 + rows_before + segment.seal.rows;  // lines of the store; the first is the header
  std::string csv;
  int64_t line = 0;
  const auto store = OwnedFolder::open(store_folder);
  if (!store) return false;
  static_cast<void>(store->read_pieces("metrics.csv", [&](std::string_view piece) {
    while (!piece.empty() && line < end && static_cast<int64_t>(csv.size()) <= segment.seal.bytes) {
      const std::string_view part = piece.substr(0, std::min(piece.find('\n'), piece.size() - 1) + 1);
      if (line == 0 || line > rows_before) csv.append(part);
      line += part.back() == '\n';
      piece.remove_prefix(part.size());
    }
    return piece.empty();
  }));
  if (static_cast<int64_t>(csv.size()) != segment.seal.bytes || crc32c(csv) != segment.seal.crc) return false;
  return static_cast<bool>(run.replace(segment, csv, segment.seal.rows));
}

}  // namespace tacho
