// Which rows of which sealed segments are still to be sent to BigQuery. A segment is read again for every batch, so
// that memory holds one batch, not the whole spool; while rows of it are under way it is locked (flock, LOCK_SH), so
// that the agent does not thin it out. A segment whose rows are all settled is acknowledged in state.json and then
// removed. Not thread-safe.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "deliver/bq_meta.h"
#include "deliver/notices.h"
#include "os/fd.h"
#include "spool/bq_record.h"
#include "spool/reader.h"

namespace tacho {

// Which table a record goes to: 'R', 'M' (events too) or 'T'.
char bq_group(char letter);

class BqSegments {
 public:
  // Records of groups that are not in `groups` are skipped.
  BqSegments(const SpoolRun& run, BqState& state, Notices& notices, std::string groups)
      : run_(run), state_(state), notices_(notices), groups_(std::move(groups)) {}

  // Hands out records of a group that are not settled yet, oldest first, as long as `take` wants more. Call it again
  // only when all of those are settled.
  void feed(char group, const std::function<bool(uint64_t tag, const BqRecord& record)>& take);
  // A row was accepted or is in the dead-letter file.
  void settle(uint64_t tag);
  // Records what was settled since; removes finished segments.
  Status save();

  // Some of its rows are being sent or arrived: others must not take their place.
  bool is_under_way(uint32_t segment) const;

  // Nobody writes any more: a segment whose checksum is wrong is damaged, and not just being thinned out.
  void owner_ended() { ended_ = true; }
  bool is_empty();  // no row is left in any sealed segment, and all of them can be read
  // After is_empty(): the first segment that cannot be read, if that is why nothing can be sent although rows are left.
  std::string stuck() const;
  int64_t finished() const { return finished_; }  // segments since the start of this process

 private:
  struct Open {
    Segment segment;
    std::vector<bool> done;
    std::string groups;           // of each row
    std::map<char, size_t> left;  // by group
    Fd lock;
  };
  void look();
  Open* open(const Segment& segment);
  Result<std::string> text_of(const Segment& segment);

  const SpoolRun& run_;
  BqState& state_;
  Notices& notices_;
  std::string groups_;
  std::map<uint32_t, Open> open_;
  std::string unreadable_;   // at the last look
  std::set<uint32_t> told_;  // segments whose damage was said
  bool changed_ = false, ended_ = false;
  int64_t finished_ = 0;
};

}  // namespace tacho
