// The message about a task's end.
#include "procfs/task_exit.h"

#include <gtest/gtest.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>

#include <cstring>
#include <string>

namespace tacho {
namespace {

template <class T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string attribute_of(uint16_t kind, const std::string& value) {
  const nlattr head{static_cast<uint16_t>(NLA_HDRLEN + value.size()), kind};
  std::string text = bytes_of(head) + value;
  text.resize(NLA_ALIGN(text.size()));
  return text;
}

std::string message_of(const taskstats& stats, size_t stats_bytes = sizeof(taskstats)) {
  const std::string task = attribute_of(TASKSTATS_TYPE_PID, bytes_of(stats.ac_pid)) +
                           attribute_of(TASKSTATS_TYPE_STATS, bytes_of(stats).substr(0, stats_bytes));
  const std::string body = bytes_of(genlmsghdr{TASKSTATS_CMD_NEW, 1, 0}) + attribute_of(TASKSTATS_TYPE_AGGR_PID, task);
  nlmsghdr head{};
  head.nlmsg_len = static_cast<uint32_t>(NLMSG_HDRLEN + body.size());
  head.nlmsg_type = 31;
  return bytes_of(head) + body;
}

taskstats ended_shell() {
  taskstats stats{};
  stats.ac_pid = 101, stats.ac_tgid = 100, stats.ac_ppid = 7;
  stats.ac_flag = 0x21;
  std::memcpy(stats.ac_comm, "sh", 3);
  stats.ac_exitcode = 3 << 8;
  stats.cpu_run_virtual_total = 1'234'567;
  stats.ac_etime = 2'000;
  stats.hiwater_rss = 1'500;
  stats.read_bytes = 4096;
  return stats;
}

TEST(TaskExit, TellsOfATask) {
  TaskExit exit;
  ASSERT_TRUE(parse_task_exit(message_of(ended_shell()), exit));
  EXPECT_EQ(exit.task, 101);
  EXPECT_EQ(exit.process, 100);
  EXPECT_EQ(exit.parent, 7);
  EXPECT_TRUE(exit.last);
  EXPECT_STREQ(exit.name.data(), "sh");
  EXPECT_EQ(exit.status, 3 << 8);
  EXPECT_EQ(exit.cpu_ns, 1'234'567);
  EXPECT_EQ(exit.lived_ns, 2'000'000);
  EXPECT_EQ(exit.peak_bytes, 1'500 * 1024);
  EXPECT_EQ(exit.read_bytes, 4096);
}

TEST(TaskExit, TellsAThreadFromTheLastOne) {
  taskstats stats = ended_shell();
  stats.ac_flag = 1;
  TaskExit exit;
  ASSERT_TRUE(parse_task_exit(message_of(stats), exit));
  EXPECT_FALSE(exit.last);
}

TEST(TaskExit, RefusesWhatIsTooShort) {
  TaskExit exit;
  EXPECT_FALSE(parse_task_exit(message_of(ended_shell(), offsetof(taskstats, ac_tgid)), exit)) << "Linux before 5.19";
  const std::string whole = message_of(ended_shell());
  for (size_t size = 0; size < 60; ++size) EXPECT_FALSE(parse_task_exit(whole.substr(0, size), exit)) << size;
}

}  // namespace
}  // namespace tacho
