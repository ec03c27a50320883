#include "procfs/task_exit.h"

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace tacho {
namespace {

constexpr size_t kTellsProcess = offsetof(taskstats, ac_tgid) + sizeof(taskstats::ac_tgid);
constexpr uint8_t kLastOfGroup = 0x20;  // AGROUP of linux/acct.h
constexpr int64_t kNsPerTaskUs = 1000, kBytesPerTaskKib = 1024;

int64_t positive(uint64_t value, int64_t unit) {
  return value <= static_cast<uint64_t>(INT64_MAX / unit) ? static_cast<int64_t>(value) * unit : 0;
}

// The value of the first attribute of this kind in a row of them; empty when there is none.
std::string_view attribute(std::string_view text, uint16_t kind) {
  while (text.size() >= NLA_HDRLEN) {
    nlattr head{};
    std::memcpy(&head, text.data(), sizeof head);
    if (head.nla_len < NLA_HDRLEN || head.nla_len > text.size()) return {};
    if ((head.nla_type & NLA_TYPE_MASK) == kind) return text.substr(NLA_HDRLEN, head.nla_len - size_t{NLA_HDRLEN});
    text.remove_prefix(std::min<size_t>(text.size(), NLA_ALIGN(head.nla_len)));
  }
  return {};
}

}  // namespace

bool parse_task_exit(std::string_view message, TaskExit& out) {
  constexpr size_t kHeads = NLMSG_HDRLEN + GENL_HDRLEN;
  if (message.size() < kHeads) return false;
  nlmsghdr head{};
  std::memcpy(&head, message.data(), sizeof head);
  const auto command = static_cast<uint8_t>(message[NLMSG_HDRLEN]);
  if (head.nlmsg_type < NLMSG_MIN_TYPE || command != TASKSTATS_CMD_NEW) return false;
  const size_t size = std::min<size_t>(message.size(), head.nlmsg_len);
  if (size < kHeads) return false;
  const std::string_view task = attribute(message.substr(kHeads, size - kHeads), TASKSTATS_TYPE_AGGR_PID);
  const std::string_view text = attribute(task, TASKSTATS_TYPE_STATS);
  if (text.size() < kTellsProcess) return false;
  taskstats stats{};
  std::memcpy(&stats, text.data(), std::min(text.size(), sizeof stats));
  if (stats.ac_pid == 0 || stats.ac_pid > INT32_MAX || stats.ac_tgid == 0 || stats.ac_tgid > INT32_MAX) return false;
  out = {};
  out.task = static_cast<pid_t>(stats.ac_pid);
  out.process = static_cast<pid_t>(stats.ac_tgid);
  out.parent = static_cast<pid_t>(std::min<uint32_t>(stats.ac_ppid, INT32_MAX));
  out.last = (stats.ac_flag & kLastOfGroup) != 0;
  std::copy_n(stats.ac_comm, std::min(sizeof stats.ac_comm, out.name.size() - 1), out.name.data());
  out.status = static_cast<int>(stats.ac_exitcode & 0xffff);
  // Not ac_utime and ac_stime, which count whole ticks of the kernel's: most short lives have none.
  out.cpu_ns = positive(stats.cpu_run_virtual_total, 1);
  out.lived_ns = positive(stats.ac_etime, kNsPerTaskUs);
  out.peak_bytes = positive(stats.hiwater_rss, kBytesPerTaskKib);
  out.read_bytes = positive(stats.read_bytes, 1);
  out.write_bytes = positive(stats.write_bytes, 1);
  return true;
}

}  // namespace tacho
