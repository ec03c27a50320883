#include "probe/tree/stolen_share.h"

#include <unistd.h>

#include <algorithm>

#include "base/units.h"
#include "procfs/stat.h"

namespace tacho {
namespace {

// The file counts in ticks of 10 ms: a division of fewer is too coarse to be kept.
constexpr int64_t kSettleNs = 200 * kNsPerMs;

}  // namespace

bool StolenShare::read(ReadBuffer& buffer, Mark& mark) {
  std::string_view text;
  if (!stat_.read(buffer, text)) return false;
  const ProcStat stat = parse_proc_stat(text);
  if (!stat.has_all) return false;
  static const int64_t tick_ns = kNsPerSec / ::sysconf(_SC_CLK_TCK);
  mark.steal_ns = stat.all.steal * tick_ns;
  mark.used_ns = mark.steal_ns + stat.all.busy() * tick_ns;
  return true;
}

void StolenShare::begin(ReadBuffer& buffer) {
  last_ = {};
  settled_ns_ = ns_ = 0;
  begun_ = read(buffer, last_);
}

int64_t StolenShare::update(ReadBuffer& buffer, int64_t clock_ns) {
  Mark now;
  if (!begun_ || !read(buffer, now)) return ns_;
  now.clock_ns = clock_ns;
  const int64_t stolen_ns = now.steal_ns - last_.steal_ns, used_ns = now.used_ns - last_.used_ns,
                ran_ns = clock_ns - last_.clock_ns;
  int64_t part_ns = 0;
  if (stolen_ns > 0 && used_ns > 0 && ran_ns > 0)
    part_ns = static_cast<int64_t>(static_cast<double>(stolen_ns) *
                                   std::min(1.0, static_cast<double>(ran_ns) / static_cast<double>(used_ns)));
  part_ns = std::min(part_ns, std::max<int64_t>(0, ran_ns));
  ns_ = settled_ns_ + part_ns;
  if (used_ns >= kSettleNs) {
    settled_ns_ = ns_;
    last_ = now;
  }
  return ns_;
}

}  // namespace tacho
