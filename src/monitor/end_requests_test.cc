#include "monitor/end_requests.h"

#include <gtest/gtest.h>

#include <csignal>

namespace tacho {
namespace {

TEST(EndRequests, WhatComesTogetherIsOne) {
  EndRequests end;
  EXPECT_FALSE(end.asked());
  end.signals({SIGHUP, SIGTERM, SIGTERM}, 0);
  EXPECT_TRUE(end.asked());
  EXPECT_FALSE(end.insists());
}

TEST(EndRequests, AnotherSignalAMomentLaterIsTheSameEnd) {
  EndRequests end;
  end.signals({SIGHUP}, 0);
  end.signals({SIGTERM}, 300 * kNsPerMs);
  EXPECT_FALSE(end.insists());
  end.signals({SIGTERM}, 400 * kNsPerMs);  // and once more: somebody means it
  EXPECT_TRUE(end.insists());
}

TEST(EndRequests, AnyOneLaterInsists) {
  EndRequests end;
  end.signals({SIGTERM}, 0);
  end.signals({SIGINT}, 2 * kNsPerSec);
  EXPECT_TRUE(end.insists());
}

TEST(EndRequests, AParentThatIsGoneNeverInsists) {
  EndRequests before, after;
  before.parent_gone();
  EXPECT_TRUE(before.asked());
  before.signals({SIGTERM}, 5 * kNsPerSec);  // the first signal all the same
  EXPECT_FALSE(before.insists());
  after.signals({SIGTERM}, 0);
  after.parent_gone();
  EXPECT_FALSE(after.insists());
}

}  // namespace
}  // namespace tacho
