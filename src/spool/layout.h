// Where the spool is and what lies in it. One folder a run and destination, <root>/<utc>-<pid>-<random>, mode 0700:
//
//   lock          flock held by the agent and, on the same open file, by its deliverer; holds the agent's pid
//   meta.json     written by the agent: destination, start body, header, outcome once known
//   state.json    written by the deliverer: run id, prefix, uploaded objects, phase
//   seals         one line a sealed segment: number, bytes, rows, CRC-32C
//   000000.csv …  sealed segments, each a complete CSV; 000003.open is the one being written
//   000000.rec …  the same with records for BigQuery (spool/bq_record.h)
//   overflow      the folders where segments go when this disk takes no more, one a line, and whose they are
//                 (spool/overflows.h)
//
// No secret is in any of them. Root and folder are ours alone and reached from a descriptor (os/owned_folder.h);
// anything else there belongs to its owner and is left alone. Thread-safe (no state).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tacho {

inline constexpr std::string_view kLockName = "lock", kMetaName = "meta.json", kStateName = "state.json",
                                  kSealsName = "seals", kOverflowName = "overflow";
inline constexpr std::string_view kOverflowEnding = ".overflow";   // of a run's folder on another disk
inline constexpr std::string_view kDeliveredMark = ".delivered-";  // in front of a folder's name: it is being removed
inline constexpr std::string_view kSealedEnding = ".csv", kRecordsEnding = ".rec", kOpenEnding = ".open";
inline constexpr size_t kRunNameHex = 8;  // random digits at the end of a run folder's name
inline constexpr int kSpoolFileMode = 0600;
inline constexpr int64_t kSegmentBytes = int64_t{4} << 20;

// TACHO_SPOOL_MAX: nothing where it is not set or is no size, which `complaint` then tells a person, with what is done
// instead.
struct SpoolLimit {
  std::optional<int64_t> bytes;
  std::string complaint;
};
SpoolLimit spool_limit(std::string_view instead);

// Places to try, in order: TACHO_SPOOL_DIR, $XDG_STATE_HOME/tacho/spool, ~/.local/state/tacho/spool,
// /var/tmp/tacho-<uid>, /tmp/tacho-<uid> and memory (/dev/shm/tacho-<uid>).
std::vector<std::string> spool_roots();
// `name` in a place where everybody may make folders; where somebody made one of that name first, also one of ours
// whose name goes on with digits that nobody can know beforehand.
std::vector<std::string> roots_in(const std::string& place, const std::string& name);
// `folder`, or a folder of our own in it where it is shared: one that belongs to somebody else or that others may write
// to, such as /scratch with mode 1777.
std::string private_root(std::string folder);

// Whether a folder is named as the spool names a run's: 20261115T140000Z-123-0a1b2c3d.
bool is_run_name(std::string_view name);
// Whether the spool makes files of that name, also when it is killed on the way: lock, meta.json, 000003.csv,
// seals.tmp0a1b2c ….
bool is_spool_file(std::string_view name);

// "000003.csv"
std::string segment_name(uint32_t number, std::string_view ending);
// 3 of "000003.csv"; nothing when the name is no segment with that ending.
std::optional<uint32_t> segment_number(std::string_view name, std::string_view ending);

}  // namespace tacho
