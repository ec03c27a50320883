#include "katib/collect/stop_rules.h"

#include <gtest/gtest.h>

namespace tacho {
namespace {

StopRules rules(const std::vector<std::string>& texts, ObjectiveType type = ObjectiveType::maximize) {
  auto parsed = StopRules::parse(texts, {"acc", "loss"}, type);
  EXPECT_TRUE(parsed);
  return std::move(*parsed);
}
bool see(StopRules& rules, const char* name, const char* value) { return rules.observe({"", name, value, {}, {}}); }

TEST(StopRules, BadOnesAreRefused) {
  for (const char* text : {"", "acc", "acc;1;less", "acc;1;less;1;2", "acc;x;less;1", "acc;;less;1", "acc;nan;less;1",
                           "acc;inf;less;1", "acc;1;LESS;1", "acc;1;lower;1", "acc;1;less;", "acc;1;less;1.5",
                           "acc;1;less;x", ";1;less;1", "acc;1x;less;1"}) {
    const auto parsed = StopRules::parse({"loss;1;less;1", text}, {"acc"}, ObjectiveType::maximize);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, Code::invalid);
    EXPECT_NE(parsed.error().message().find(std::string("'") + text + "'"), std::string::npos)
        << parsed.error().message();
  }
  EXPECT_TRUE(StopRules::parse({"a;b;1;less;0"}, {"a;b"}, ObjectiveType::none)) << "the name of a metric may hold a ;";
}

TEST(StopRules, NoneAreNeverMet) {
  StopRules none = rules({});
  EXPECT_TRUE(none.empty());
  EXPECT_FALSE(see(none, "acc", "1"));
  EXPECT_FALSE(none.met());
}

TEST(StopRules, TheObjectiveIsComparedByItsBest) {
  StopRules best = rules({"acc;0.5;less;3"});
  EXPECT_FALSE(see(best, "acc", "0.6"));
  EXPECT_FALSE(see(best, "acc", "0.1"));
  EXPECT_FALSE(see(best, "acc", "0.2")) << "the best is 0.6";
  StopRules lowest = rules({"acc;0.5;greater;2"}, ObjectiveType::minimize);
  EXPECT_FALSE(see(lowest, "acc", "0.9"));
  EXPECT_TRUE(see(lowest, "acc", "0.8"));
  StopRules first = rules({"acc;0.5;less;2"}, ObjectiveType::none);
  EXPECT_FALSE(see(first, "acc", "0.4"));
  EXPECT_TRUE(see(first, "acc", "0.9")) << "without a type the first counts";
}

TEST(StopRules, OthersByThePresentValue) {
  StopRules present = rules({"loss;0.5;greater;0"});
  EXPECT_FALSE(see(present, "loss", "0.5"));
  EXPECT_FALSE(see(present, "acc", "7"));
  EXPECT_TRUE(see(present, "loss", " +6e-1 "));
  EXPECT_TRUE(present.met());
  EXPECT_FALSE(see(present, "loss", "9")) << "only once";
}

TEST(StopRules, TestedAtTheStartStepAndLater) {
  StopRules late = rules({"loss;0.5;greater;3"});
  EXPECT_FALSE(see(late, "loss", "9"));
  EXPECT_FALSE(see(late, "loss", "9"));
  EXPECT_FALSE(see(late, "loss", "0"));
  EXPECT_FALSE(see(late, "loss", "0"));
  EXPECT_TRUE(see(late, "loss", "9"));
  StopRules any = rules({"loss;0.5;greater;-2"});
  EXPECT_TRUE(see(any, "loss", "9"));
}

TEST(StopRules, AllMustBeMetEachOnce) {
  StopRules all = rules({"loss;0.5;greater;0", "loss;0.1;less;2", "acc;1;equal;1"});
  EXPECT_FALSE(see(all, "loss", "0.9"));
  EXPECT_FALSE(see(all, "loss", "0.3"));
  EXPECT_FALSE(see(all, "loss", "0.05"));
  EXPECT_FALSE(all.met());
  EXPECT_TRUE(see(all, "acc", "1.0"));
  EXPECT_NE(all.describe().find("loss less 0.1 from step 2: met by 0.05"), std::string::npos) << all.describe();
}

TEST(StopRules, WhatIsNoNumberIsNoObservation) {
  StopRules numbers = rules({"loss;0.5;greater;2"});
  for (const char* value : {"nan", "", "unavailable", "1.0.0", "-inf", "1e999", "+-1"})
    EXPECT_FALSE(see(numbers, "loss", value)) << value;
  EXPECT_FALSE(see(numbers, "loss", "9"));
  EXPECT_TRUE(see(numbers, "loss", "9"));
}

TEST(StopRules, StateGoesOn) {
  const std::vector<std::string> texts{"acc;0.123456789012345678;less;3", "loss;0.5;greater;0"};
  StopRules before = rules(texts);
  see(before, "acc", "0.1");
  see(before, "acc", "0.05");
  see(before, "loss", "0.9");
  StopRules after = rules(texts);
  ASSERT_TRUE(after.restore(before.state()));
  EXPECT_EQ(after.state(), before.state());
  EXPECT_TRUE(see(after, "acc", "0.01"));
  StopRules other = rules({"acc;1;less;3"});
  EXPECT_FALSE(other.restore(before.state()));
  EXPECT_FALSE(other.restore("{"));
  EXPECT_FALSE(other.restore("{\"rules\":[{\"rule\":\"acc;1;less;3\",\"seen\":\"x\"}]}"));
  StopRules binary = std::move(*StopRules::parse({"\xff\xe1;1;less;0"}, {"acc"}, ObjectiveType::none));
  EXPECT_TRUE(binary.restore(binary.state()));
  after.reset();
  EXPECT_FALSE(after.met());
}

}  // namespace
}  // namespace tacho
