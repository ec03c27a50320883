// The network probe: which interfaces count, in whose namespace, and what becomes of those that begin anew.
#include <gtest/gtest.h>

#include "probe/net_table.h"
#include "probe/system.h"
#include "support/probe_bench.h"

namespace tacho {
namespace {

std::vector<std::string> counted(const std::string& fixture) {
  KernelTree tree(fixture);
  NetTable table;
  table.reset(tree.roots().sys, tree.roots().proc + "/net");
  EXPECT_TRUE(table.update(tree.read("proc/net/dev")));
  std::vector<std::string> names;
  for (const NetEntry& entry : table.entries())
    if (entry.counted) names.push_back(entry.name);
  return names;
}

TEST(NetTable, CountsHardwareOnly) { EXPECT_EQ(counted("x86_vm"), std::vector<std::string>{"eth0"}); }

TEST(NetTable, VirtualFunctionUnderItsMasterCountsOnce) {
  EXPECT_EQ(counted("azure"), std::vector<std::string>{"eth0"});
}

TEST(NetTable, InAContainerAllThatCarryNoOthers) {
  EXPECT_EQ(counted("container"), (std::vector<std::string>{"eth0", "dummy0"}));
}

TEST(NetTable, WithoutSysfsNamesHaveToDo) { EXPECT_EQ(counted("no_sys"), std::vector<std::string>{"eth0"}); }

TEST(NetTable, SaysThatItGuessed) {
  KernelTree tree("no_sys");
  ProbeBench bench(kNetProbe, tree.roots());
  bench.tick();
  EXPECT_EQ(bench.context.notes.size(), 1u);
}

TEST(NetProbe, SumsWhatWasAdded) {
  KernelTree tree("x86_vm");
  ProbeBench bench(kNetProbe, tree.roots());
  bench.tick();
  tree.replace("proc/net/dev", "76786663", "76787663");
  tree.replace("proc/net/dev", "113613", "113620");
  tree.replace("proc/net/dev", "docker0:    5000", "docker0:    9000");
  bench.tick();
  EXPECT_DOUBLE_EQ(bench.cell("system_net_recv_bytes"), 1000);
  EXPECT_DOUBLE_EQ(bench.cell("system_net_sent_bytes"), 7);
}

// Received and sent, of the interfaces that count; what carries the same packets again does not.
TEST(NetProbe, DropsAndErrorsOfBothDirections) {
  KernelTree tree("x86_vm");
  ProbeBench bench(kNetProbe, tree.roots());
  bench.tick();
  EXPECT_TRUE(is_absent(bench.cell("system_net_drops")));
  tree.replace("proc/net/dev",
               "eth0: 76786663   76786    0    0    0     0          0         0   113613     113    0    0",
               "eth0: 76786663   76786    3    5    9     9          9         9   113613     113    4    6");
  tree.replace("proc/net/dev", "docker0:    5000       5    0    0", "docker0:    5000       5    7    7");
  bench.tick();
  EXPECT_EQ(bench.cell("system_net_errors"), 7);
  EXPECT_EQ(bench.cell("system_net_drops"), 11);
  bench.tick();
  EXPECT_EQ(bench.cell("system_net_errors"), 0);
  EXPECT_EQ(bench.cell("system_net_drops"), 0);
}

TEST(NetProbe, InterfacesComeGoAndBeginAnew) {
  KernelTree tree("azure");
  ProbeBench bench(kNetProbe, tree.roots());
  bench.tick();
  tree.replace("proc/net/dev", " 900000", "    500");
  bench.tick();
  EXPECT_DOUBLE_EQ(bench.cell("system_net_recv_bytes"), 0);
  EXPECT_DOUBLE_EQ(bench.cell("system_net_sent_bytes"), 0);
  const std::string two = tree.read("proc/net/dev");
  tree.write("sys/class/net/eth1/ifindex", "9\n");
  tree.write("sys/class/net/eth1/device/vendor", "0x1af4\n");
  tree.write("proc/net/dev", two + "  eth1: 777777 1 0 0 0 0 0 0 777777 1 0 0 0 0 0 0\n");
  bench.tick();
  EXPECT_DOUBLE_EQ(bench.cell("system_net_recv_bytes"), 0);
  tree.replace("proc/net/dev", "eth1: 777777", "eth1: 777787");
  bench.tick();
  EXPECT_DOUBLE_EQ(bench.cell("system_net_recv_bytes"), 10);
  // Another interface under the old name: its index tells, seen when the lines change.
  tree.write("sys/class/net/eth1/ifindex", "10\n");
  tree.write("proc/net/dev", "  eth1: 888888 1 0 0 0 0 0 0 888888 1 0 0 0 0 0 0\n" + two);
  bench.tick();
  EXPECT_DOUBLE_EQ(bench.cell("system_net_recv_bytes"), 0);
}

TEST(NetProbe, AnotherInterfaceOfTheSameNameStartsAtItsFirstReading) {
  KernelTree tree("x86_vm");
  ProbeBench bench(kNetProbe, tree.roots());
  bench.tick();
  const std::string index = tree.read("sys/class/net/eth0/ifindex");
  tree.replace("sys/class/net/eth0/ifindex", index, "99\n");
  tree.replace("proc/net/dev", "76786663", "96786663");
  bench.tick();
  EXPECT_DOUBLE_EQ(bench.cell("system_net_recv_bytes"), 0);
  tree.replace("proc/net/dev", "96786663", "96786670");
  bench.tick();
  EXPECT_DOUBLE_EQ(bench.cell("system_net_recv_bytes"), 7);
}

TEST(NetProbe, ReadsTheNamespaceOfTheTrackedProcess) {
  KernelTree tree("container");
  ProbeBench bench(kNetProbe, tree.roots(), 88);
  bench.tick();
  tree.replace("proc/88/net/dev", "1234", "1300");
  tree.replace("proc/net/dev", "10000", "99999");  // tacho's own namespace: not to be mixed in
  bench.tick();
  EXPECT_DOUBLE_EQ(bench.cell("system_net_recv_bytes"), 66);
  // Back to its own: the totals go on from where they were, without a jump.
  bench.context.net_pid = 0;
  bench.tick();
  EXPECT_DOUBLE_EQ(bench.cell("system_net_recv_bytes"), 0);
}

TEST(NetProbe, DescribesInterfacesSortedWithoutLoopback) {
  KernelTree tree("x86_vm");
  ProbeBench bench(kNetProbe, tree.roots());
  bench.tick();
  const Detail detail = bench.detail();
  ASSERT_EQ(detail.network.size(), 3u);
  EXPECT_EQ(detail.network[0].interface, "docker0");
  EXPECT_FALSE(detail.network[0].counted);
  EXPECT_EQ(detail.network[0].rx_bytes, 5000);
  EXPECT_EQ(detail.network[0].speed_mbps, -1);
  const NetDetail& eth0 = detail.network[1];
  EXPECT_EQ(eth0.interface, "eth0");
  EXPECT_TRUE(eth0.counted);
  EXPECT_EQ(eth0.driver, "virtio_net");
  EXPECT_EQ(eth0.mac_address, "02:42:ac:11:00:02");
  EXPECT_EQ(eth0.operstate, "up");
  EXPECT_EQ(eth0.speed_mbps, 10000);
  EXPECT_EQ(eth0.mtu, 1500);
  EXPECT_EQ(eth0.rx_bytes, 76786663);
}

TEST(NetProbe, WithoutSysfsTheMtuIsUnknown) {
  KernelTree tree("no_sys");
  ProbeBench bench(kNetProbe, tree.roots());
  bench.tick();
  const Detail detail = bench.detail();
  ASSERT_FALSE(detail.network.empty());
  EXPECT_FALSE(detail.network[0].mtu.has_value());
}

// Where no interface moved, the file of TCP is not read; what it says then is in the row of the next packet.
TEST(NetProbe, RetransmitsAreLookedUpWhenSomethingMoved) {
  KernelTree tree("x86_vm");
  const auto snmp = [&](int segments) {
    tree.write("proc/net/snmp", "Tcp: InSegs OutSegs RetransSegs\nTcp: 5 6 " + std::to_string(segments) + "\n");
  };
  snmp(10);
  ProbeBench bench(kNetProbe, tree.roots());
  bench.tick();
  bench.tick();
  EXPECT_EQ(bench.cell("system_net_retransmits"), 0);
  snmp(15);
  bench.tick();
  EXPECT_EQ(bench.cell("system_net_retransmits"), 0);
  tree.replace("proc/net/dev", "76786663", "76786664");
  bench.tick();
  EXPECT_EQ(bench.cell("system_net_retransmits"), 5);
  bench.tick();
  EXPECT_EQ(bench.cell("system_net_retransmits"), 0);
}

TEST(NetProbe, NoFileIsEmptyNotZero) {
  ProbeBench bench(kNetProbe, {"/nonexistent", "/nonexistent", "/nonexistent"});
  bench.tick();
  bench.tick();
  EXPECT_TRUE(is_absent(bench.cell("system_net_recv_bytes")));
  EXPECT_EQ(bench.detail().network.size(), 0u);
}

}  // namespace
}  // namespace tacho
