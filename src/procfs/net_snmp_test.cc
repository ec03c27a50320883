#include "procfs/net_snmp.h"

#include <gtest/gtest.h>

namespace tacho {
namespace {

TEST(NetSnmp, Retransmits) {
  EXPECT_EQ(
      parse_retransmits("Ip: a b\nIp: 1 2\nTcp: RtoAlgorithm MaxConn RetransSegs InErrs\nTcp: 1 -1 12 0\nUdp: x\n"),
      12);
  EXPECT_EQ(parse_retransmits("Tcp: RetransSegs\nTcp: 99999999999999999999999\n"), INT64_MAX);
  for (const char* text :
       {"", "Tcp: RetransSegs\n", "Tcp: A\nTcp: 1\n", "Tcp: A RetransSegs\nTcp: 1\n", "Tcp: RetransSegs\nTcp: -5\n",
        "Tcp: RetransSegs\nTcp: x\n", "TcpExt: RetransSegs\nTcpExt: 4\n"})
    EXPECT_EQ(parse_retransmits(text), -1) << text;
}

}  // namespace
}  // namespace tacho
