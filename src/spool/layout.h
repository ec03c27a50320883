// Where the spool is and what lies in it. One folder a run and destination, <root>/<utc>-<pid>-<random>, mode 0700:
//
//   lock          flock held by the agent and, on the same open file, by its deliverer; holds the agent's pid
//   meta.json     written by the agent: destination, start body, header, outcome once known
//   state.json    written by the deliverer: run id, prefix, uploaded objects, phase
//   seals         one line a sealed segment: number, bytes, rows, CRC-32C
//   000000.csv …  sealed segments, each a complete CSV; 000003.open is the one being written
//   000000.rec …  the same with records for BigQuery (spool/bq_record.h)
//   overflow      the folders where segments go when this disk takes no more, one a line
//
// No secret is in any of them. Thread-safe (no state).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tacho {

inline constexpr std::string_view kLockName = "lock", kMetaName = "meta.json", kStateName = "state.json", kSealsName = "seals",
                                  kOverflowName = "overflow";
inline constexpr std::string_view kSealedEnding = ".csv", kRecordsEnding = ".rec", kOpenEnding = ".open";
inline constexpr int kSpoolFolderMode = 0700, kSpoolFileMode = 0600;
inline constexpr int64_t kSegmentBytes = int64_t{4} << 20;

// Places to try, in order: TACHO_SPOOL_DIR, $XDG_STATE_HOME/tacho/spool, ~/.local/state/tacho/spool, /var/tmp/tacho-<uid>,
// /tmp/tacho-<uid> and memory (/dev/shm/tacho-<uid>).
std::vector<std::string> spool_roots();

// "000003.csv"
std::string segment_name(uint32_t number, std::string_view ending);
// 3 of "000003.csv"; nothing when the name is no segment with that ending.
std::optional<uint32_t> segment_number(std::string_view name, std::string_view ending);

struct Seal {
  uint32_t number = 0;
  int64_t bytes = 0, rows = 0;  // rows without the header
  uint32_t crc = 0;
};
// "000003 8421 60 1f2e3d4c\n"
std::string seal_line(const Seal& seal);
std::optional<Seal> parse_seal(std::string_view line);  // without the line's end

}  // namespace tacho
