#include "engine/restarts.h"

#include <utility>

namespace tacho {

void Restarts::ended(int64_t now_ns, bool began) {
  stillborn_ = began ? 0 : stillborn_ + 1;
  if (now_ns - started_ns_ >= kLasting_ns) pause_ns_.reset(), at_once_ = true;
  const int64_t pause_ns = std::exchange(at_once_, false) ? 0 : pause_ns_.next();
  at_ns_ = given_up() ? kNever : now_ns + pause_ns;
}

}  // namespace tacho
