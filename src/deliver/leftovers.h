// Runs in the spool whose owner is dead: finding them, sending them by the way, and keeping the spool within its bounds
// (sentinel.md §6.1, L11). Not thread-safe.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/backoff.h"
#include "base/units.h"
#include "deliver/delivery.h"

namespace tacho {

// All runs of all spool folders, oldest first.
std::vector<std::string> all_spooled();

// Removes finished-undelivered runs that are older than 90 days, and the oldest ones beyond TACHO_SPOOL_MAX bytes in all; before
// that, what is left of runs that were delivered.
void bound_spool(Reporter& reporter);

// Runs for BigQuery whose owner is dead and which lie beside this one, or where it would go next (a disk that vanished is
// there again), locked by now: the next start on the same disk sends them.
std::vector<SpoolRun> take_bq_leftovers(const std::string& folder);

// Whether the tacho that recorded the run is there. Its deliverer may outlive it.
bool owner_lives(const SpoolRun& run);

// Where the runs of this very process go: by our own settings. Leftovers for the same places are sent by the way.
struct Destinations {
  std::string api_url;                    // empty: none goes to the service
  std::vector<std::string> bucket_uris;
  bool include(const SpoolMeta& meta) const;
};
// Whether the bucket of the run is where our settings have it. An old run does not tell.
bool is_our_s3(const SpoolMeta& meta);

class Leftovers {
 public:
  // Does a little; returns when it wants to be called again.
  int64_t step(Delivering& shared, const Destinations& ours);

 private:
  std::deque<std::string> folders_;
  std::vector<std::string> in_hands_;  // of deliverers that outlived their tacho: looked at again
  std::unique_ptr<Delivery> current_;
  int64_t next_ns_ = 0, look_again_ns_ = 0;
  DoublingPause pause_ns_{kNsPerSec, 60 * kNsPerSec};  // before a look at what is in other hands
  bool looked_ = false;
};

}  // namespace tacho
