#include "probe/pss_reader.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include "base/units.h"
#include "os/clock.h"

namespace tacho {
namespace {

constexpr int64_t kReadAgainNs = 10 * kNsPerSec;
constexpr int64_t kLongestReadNs = 50 * kNsPerMs;
constexpr int64_t kNsPerGiB = 13 * kNsPerMs;
constexpr int64_t kNsPerRead = 40 * kNsPerUs;
// A thousandth of one core: far below the contract's limit of a hundredth, since a tick has to stay cheap.
constexpr int64_t kBudgetShare = 1000;

int64_t predicted_cost_ns(const Member& member) {
  return kNsPerRead + static_cast<int64_t>(static_cast<double>(member.rss_bytes()) / (1 << 30) * kNsPerGiB);
}

}  // namespace

bool PssReader::wants_reading(const Member& member, int64_t now_ns) const {
  if (member.pss_denied || member.zombie() || member.rss_bytes() == 0) return false;
  if (member.pss_bytes >= 0 && member.pss_stamp_ns == now_ns) return false;
  if (member.pss_bytes < 0 || member.forked_since_pss || mode_ == PssMode::always) return true;
  const int64_t moved = std::abs(member.rss_bytes() - member.pss_rss_bytes);
  return moved > member.pss_rss_bytes / 16 || (member.ran_since_pss && now_ns - member.pss_stamp_ns >= kReadAgainNs);
}

void PssReader::read(Member& member, int proc_fd, ReadBuffer& buffer, int64_t now_ns) {
  std::array<char, 48> path{};
  std::snprintf(path.data(), path.size(), "%d/smaps_rollup", static_cast<int>(member.pid()));
  std::string_view text;
  const Fd fd(::openat(proc_fd, path.data(), O_RDONLY | O_CLOEXEC));
  if (!fd || !buffer.read(fd.get(), text)) {
    member.pss_denied = errno != ESRCH;
    return;
  }
  if (const auto pss = parse_pss_bytes(text)) {
    member.pss_bytes = *pss;
    member.pss_rss_bytes = member.rss_bytes();
    member.pss_stamp_ns = now_ns;
    member.ran_since_pss = member.forked_since_pss = false;
  }
}

TreeMemory PssReader::measure(std::vector<Member>& members, int proc_fd, ReadBuffer& buffer, int64_t now_ns) {
  if (mode_ != PssMode::never && !members.empty()) {
    credit_ns_ = std::min(kLongestReadNs, credit_ns_ + interval_ns_ / kBudgetShare);
    for (size_t seen = 0; seen < members.size(); ++seen, ++next_) {
      Member& member = members[next_ % members.size()];
      if (!wants_reading(member, now_ns)) continue;
      const int64_t cost_ns = predicted_cost_ns(member);
      if (mode_ == PssMode::automatic && cost_ns > credit_ns_) {
        if (cost_ns > kLongestReadNs) continue;  // would hold the process's lock too long: its RSS has to do
        break;                                   // the same one is first when the budget allows
      }
      const int64_t start_ns = system_clock().monotonic_ns();
      read(member, proc_fd, buffer, now_ns);
      credit_ns_ -= std::max(cost_ns, system_clock().monotonic_ns() - start_ns);
    }
  }
  TreeMemory sum;
  bool any_pss = false, any_scaled = false;
  for (const Member& member : members) {
    const int64_t rss = member.zombie() ? 0 : member.rss_bytes();
    sum.rss_bytes += rss;
    if (mode_ != PssMode::never && member.pss_bytes >= 0 && member.pss_rss_bytes > 0) {
      any_pss = true;
      any_scaled = any_scaled || rss != member.pss_rss_bytes;
      const double ratio = static_cast<double>(member.pss_bytes) / static_cast<double>(member.pss_rss_bytes);
      sum.pss_bytes += static_cast<int64_t>(static_cast<double>(rss) * ratio);
    } else {
      sum.pss_bytes += rss;
      if (rss > 0) {
        any_scaled = true;
        fell_back_ = fell_back_ || mode_ != PssMode::never;
      }
    }
  }
  sum.bytes = any_pss ? sum.pss_bytes : sum.rss_bytes;
  sum.source = !any_pss ? "rss" : any_scaled ? "pss_scaled" : "pss";
  return sum;
}

}  // namespace tacho
