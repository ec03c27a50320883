#include "engine/restarts.h"

#include <algorithm>

#include "base/units.h"

namespace tacho {
namespace {

constexpr int64_t kLongestPause_ns = 60 * kNsPerSec;

}  // namespace

void Restarts::ended(int64_t now_ns, bool began) {
  stillborn_ = began ? 0 : stillborn_ + 1;
  if (now_ns - started_ns_ >= kLongestPause_ns) pause_ns_ = 0;
  at_ns_ = given_up() ? kNever : now_ns + pause_ns_;
  pause_ns_ = std::clamp(2 * pause_ns_, kNsPerSec, kLongestPause_ns);
}

}  // namespace tacho
