#include "deliver/follow.h"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstdio>

#include "base/units.h"
#include "base/writer.h"
#include "deliver/follow_spool.h"
#include "deliver/leftovers.h"
#include "os/listening_socket.h"
#include "os/memory.h"

namespace tacho {
namespace {

constexpr int64_t kLookForRuns_ns = kNsPerSec / 2, kBoundEvery_ns = 60 * kNsPerSec;
constexpr int kEnoughFiles = 4096;  // three a run that is in hands

std::atomic<bool> follower_stops{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal's handler sets it

int follow(const Delivering& shared) {
  give_back_memory(true);
  FollowedSpool spool(shared, [] { return follower_stops.load(); });
  int64_t bound_ns = 0;
  while (!follower_stops) {
    const int64_t now_ns = system_clock().monotonic_ns();
    // Nobody else does while runs are delivered later.
    if (now_ns >= bound_ns) bound_spool(shared.notices), bound_ns = now_ns + kBoundEvery_ns;
    spool.look();
    spool.wait(std::min(spool.start_due(), now_ns + kLookForRuns_ns));
  }
  return 0;
}

}  // namespace

void print_progress(Delivery& delivery, bool delivered) {
  const auto now = delivery.progress();
  if (!now) return;
  Writer text;
  JsonWriter json(text);
  json.object().key("run").value(now->run).key("destination").value(now->destination);
  json.key("state").value(delivered ? "delivered" : now->blocked ? "blocked" : "waiting");
  json.key("sent").integer(now->sent).key("refused").integer(now->refused).key("waiting").integer(now->waiting);
  json.key("dead_letter");
  if (now->dead_letter.empty()) json.null();
  else json.value(now->dead_letter);
  json.end_object();
  std::printf("%s\n", std::string(text.view()).c_str());
  std::fflush(stdout);
}

int follow_spool(const Delivering& shared) {
  struct sigaction action {};
  action.sa_handler = [](int) { follower_stops = true; };
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) ::sigaction(number, &action, nullptr);
  const ReservedDescriptors files(kEnoughFiles);
  return follow(shared);
}

}  // namespace tacho
