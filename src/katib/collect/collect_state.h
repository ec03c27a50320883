// What a collector must know to go on after it was killed at any moment: how far each stream of rows was acknowledged,
// the one chunk that may be on its way, the stop rules' counters. Kept as JSON, replaced by temporary file, fsync and
// rename. Plain data; the file is not thread-safe.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "katib/collect/report_call.h"
#include "katib/read/row_shaper.h"

namespace tacho {

struct StreamProgress {
  std::string position;  // of its Reader, behind the last acknowledged row; JSON
};

struct PendingChunk {
  std::string stream;
  std::string to;       // position behind it
  int64_t rows = 0;     // that the Reader passes on between the acknowledged position and `to`
  bool at_end = false;  // read when training was over: a last line without its end counts
  std::vector<ArrivalRun> arrivals;
  int64_t done = 0;     // of the shaped rows: acknowledged (or dropped as poison)
  int64_t sending = 0;  // the next ones, which may have been stored already, by one call or, each behind the other, by
                        // several; after the last row, the first of `skipped`
  std::vector<int64_t> skipped;              // of those done: not taken when others were, tried once more at the end
  std::string id;                            // of the chunk, for its reports
  static constexpr int64_t kMost = 100'000;  // of anything above: a state with more was not written by a collector
};

struct CollectState {
  std::string trial, kind;
  std::string watch_position;  // up to where stop rules and objective have been looked at
  std::string rules;           // JSON
  std::string scrape;          // JSON, of the Prometheus source
  bool objective_seen = false, stopped = false;
  std::map<std::string, StreamProgress, std::less<>> streams;
  std::map<std::string, int64_t, std::less<>> acknowledged;  // rows by metric name
  RowDigests digests;                                        // what is in the database, as far as is known
  LastTimes times;
  std::optional<PendingChunk> pending;
};

std::string format_state(const CollectState& state);
// A collector of event files writes a place for each of them. `event_bytes`: the size of the places of all files that
// exist now; a state that holds much more was planted, and is not read.
inline constexpr size_t kEventEntryBytes = 200;  // of one file, beside its path twice (escaped)
Result<CollectState> parse_collect_state(std::string_view text, size_t event_bytes = 0);

class StateFile {
 public:
  explicit StateFile(std::string path) : path_(std::move(path)) {}  // "": nothing is kept
  // Nothing when there is no state, or no usable one (with a warning).
  std::optional<CollectState> load(std::string_view trial, std::string_view kind, size_t event_bytes = 0) const;
  void save(const CollectState& state);
  const std::string& path() const { return path_; }

 private:
  std::string path_, last_text_;
};

}  // namespace tacho
