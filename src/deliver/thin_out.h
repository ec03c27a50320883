// For a spool that had to go to memory, which must stay bounded too: the oldest rows are merged pairwise, so that
// totals and peaks stay true while time becomes coarser. Thread-safe (no state).
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "spool/reader.h"

namespace tacho {

// Every two rows become one: what an interval added is summed, everything else is the larger value, the time is the
// later one. An odd row at the end stays.
std::string merge_pairwise(std::string_view csv);
// The same of records for BigQuery (spool/bq_record.h); only those of a table of our own, letter T.
std::string merge_records(std::string_view records);

struct RowsForm {
  std::string (*merge)(std::string_view);
  int64_t headers;      // lines in front of the rows
  int64_t limit_bytes;  // of what lies in memory
};
inline constexpr RowsForm kCsvRows{merge_pairwise, 1, int64_t{64} << 20};
inline constexpr RowsForm kRecordRows{merge_records, 0, int64_t{16} << 20};

// Merges the oldest segments that lie in `memory_root` and are not `in_hands`, until they are within the limit. Returns
// how many rows are gone.
int64_t thin_out(const SpoolRun& run, const std::function<bool(uint32_t number)>& in_hands,
                 const RowsForm& form = kCsvRows, std::string_view memory_root = "/dev/shm/");

}  // namespace tacho
