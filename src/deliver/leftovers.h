// Runs in the spool whose owner is dead: finding them, sending them along the way, and keeping the spool within its
// bounds (sentinel.md §6.1, L11). Not thread-safe.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/backoff.h"
#include "base/units.h"
#include "deliver/delivery.h"

namespace tacho {

// All runs of all spool folders, oldest first.
std::vector<std::string> all_spooled();

// Removes the remains of delivered runs first; then runs that ended undelivered and are older than 90 days, and the
// oldest ones beyond TACHO_SPOOL_MAX bytes in all.
void bound_spool(Notices& notices);

// Runs of the same kind as this one whose owner is dead, beside it or in the next place of its list (a disk that
// vanished may be back), already locked: the next start on the same disk sends them. None if the kind does not want
// that.
std::vector<SpoolRun> take_leftovers(const std::string& folder);

// Whether the tacho that recorded the run is alive. Its deliverer may outlive it.
bool owner_lives(const SpoolRun& run);

class Leftovers {
 public:
  // Does one step for runs that are `ours` to send; returns when it wants to be called again.
  int64_t step(Delivering& shared, const std::function<bool(const SpoolMeta& meta)>& ours);

 private:
  std::deque<std::string> folders_;
  std::vector<std::string> in_hands_;  // of deliverers that outlived their tacho: looked at again
  std::unique_ptr<Delivery> current_;
  int64_t next_ns_ = 0, look_again_ns_ = 0;
  DoublingPause pause_ns_{kNsPerSec, 60 * kNsPerSec};  // before a look at what is in other hands
  bool looked_ = false;
};

}  // namespace tacho
