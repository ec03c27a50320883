#include "probe/tree/pss_reader.h"

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
constexpr int64_t kNsPerRead = 40 * kNsPerUs;
// A hundredth of one core at the most. A job whose memory and processes do not change needs next to nothing of it.
constexpr int64_t kBudgetShare = 100;

// Kept back for what makes a large difference: a process that was never read, and one that now shares with others.
constexpr int64_t kReserveNs = kLongestReadNs / 2;
constexpr int64_t kTellingBytes = 16 * kMiB;  // the time for so much says what memory costs on this machine

bool is_urgent(const Member& member) { return member.pss_bytes < 0 || member.sharing_changed; }

// A process as large as its parent is a fork that shares the parent's memory: until it is read, the parent's share is
// its own.
double share_as_a_fork(const Member& member, const std::vector<Member>& members) {
  const auto parent = std::lower_bound(members.begin(), members.end(), member.parent(),
                                       [](const Member& other, pid_t pid) { return other.pid() < pid; });
  if (parent == members.end() || parent->pid() != member.parent() || parent->pss_bytes < 0) return 1;
  return std::abs(member.rss_bytes() - parent->rss_bytes()) <= parent->rss_bytes() / 8 ? parent->pss_share : 1;
}

double gibibytes(int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

}  // namespace

int64_t PssReader::predicted_cost_ns(const Member& member) const {
  return kNsPerRead + static_cast<int64_t>(gibibytes(member.rss_bytes()) * ns_per_gib_);
}

// By CPU time: what others do to the machine meanwhile is no cost of ours.
void PssReader::charge(const Member& member, int64_t cpu_ns) {
  credit_ns_ -= cpu_ns;
  if (member.rss_bytes() >= kTellingBytes)
    ns_per_gib_ += (static_cast<double>(cpu_ns) / gibibytes(member.rss_bytes()) - ns_per_gib_) / 4;
}

bool PssReader::wants_reading(const Member& member, int64_t now_ns) const {
  if (member.pss_denied || member.zombie() || member.borrows_memory || member.rss_bytes() == 0) return false;
  if (member.pss_bytes >= 0 && member.pss_stamp_ns == now_ns) return false;
  if (member.pss_bytes < 0 || member.sharing_changed || mode_ == PssMode::always) return true;
  const int64_t moved = std::abs(member.rss_bytes() - member.pss_rss_bytes);
  return moved > member.pss_rss_bytes / 16 || (member.ran_since_pss && now_ns - member.pss_stamp_ns >= kReadAgainNs);
}

void PssReader::read(Member& member, int proc_fd, ReadBuffer& buffer, int64_t now_ns) {
  std::array<char, 48> path{};
  std::snprintf(path.data(), path.size(), "%d/smaps_rollup", static_cast<int>(member.memory_pid()));
  std::string_view text;
  const Fd fd(::openat(proc_fd, path.data(), O_RDONLY | O_CLOEXEC));
  if (!fd || !buffer.read(fd.get(), text)) {
    member.pss_denied = errno != ESRCH && errno != EMFILE && errno != ENFILE;
    return;
  }
  if (const auto rollup = parse_smaps_rollup(text)) {
    member.pss_bytes = rollup->pss_bytes + rollup->huge_bytes;
    member.huge_bytes = rollup->huge_bytes;
    const auto rss = static_cast<double>(rollup->rss_bytes), pss = static_cast<double>(rollup->pss_bytes);
    member.pss_share = rss > 0 ? pss / rss : 1;
    member.uss_bytes = rollup->private_bytes + rollup->huge_bytes;
    member.uss_share = rss > 0 ? static_cast<double>(rollup->private_bytes) / rss : 0;
    member.pss_rss_bytes = member.rss_bytes();
    member.pss_stamp_ns = now_ns;
    member.ran_since_pss = member.sharing_changed = false;
  }
}

TreeMemory PssReader::measure(std::vector<Member>& members, int proc_fd, ReadBuffer& buffer, int64_t now_ns) {
  if (mode_ != PssMode::never && !members.empty()) {
    credit_ns_ = std::min(kLongestReadNs, credit_ns_ + interval_ns_ / kBudgetShare);
    for (size_t seen = 0; seen < members.size(); ++seen, ++next_) {
      if (next_ >= members.size()) next_ = 0;
      Member& member = members[next_];
      if (!wants_reading(member, now_ns)) continue;
      const int64_t cost_ns = predicted_cost_ns(member);
      if (mode_ == PssMode::automatic) {
        if (cost_ns > kLongestReadNs) continue;  // would hold the process's lock too long: its RSS has to do
        if (!is_urgent(member) && cost_ns > credit_ns_ - kReserveNs) continue;
        if (cost_ns > credit_ns_) break;  // the same one is first when the budget allows
      }
      const int64_t start_ns = thread_cpu_ns();
      read(member, proc_fd, buffer, now_ns);
      charge(member, thread_cpu_ns() - start_ns);
    }
  }
  TreeMemory sum;
  bool any_pss = false, any_scaled = false;
  for (const Member& member : members) {
    if (member.zombie() || member.borrows_memory) continue;
    const int64_t rss = member.rss_bytes();
    sum.rss_bytes += rss;
    if (mode_ != PssMode::never && member.pss_bytes >= 0) {
      const bool as_read = rss == member.pss_rss_bytes;
      any_pss = true;
      any_scaled = any_scaled || !as_read;
      const auto part_of = [&](double share) {
        return static_cast<int64_t>(static_cast<double>(rss) * share) + member.huge_bytes;
      };
      sum.pss_bytes += as_read ? member.pss_bytes : part_of(member.pss_share);
      sum.uss_bytes += as_read ? member.uss_bytes : part_of(member.uss_share);
    } else {
      const double share = mode_ == PssMode::never || member.pss_denied ? 1 : share_as_a_fork(member, members);
      sum.pss_bytes += static_cast<int64_t>(static_cast<double>(rss) * share);
      if (rss > 0) {
        any_scaled = true;
        fell_back_ = fell_back_ || (mode_ != PssMode::never && share == 1);
      }
    }
  }
  sum.bytes = any_pss ? sum.pss_bytes : sum.rss_bytes;
  sum.source = !any_pss ? "rss" : any_scaled ? "pss_scaled" : "pss";
  return sum;
}

}  // namespace tacho
