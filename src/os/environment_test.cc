#include "os/environment.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tacho {
namespace {

constexpr const char* kName = "TACHO_TEST_ENVIRONMENT";

TEST(Environment, IsTrimmedAndEmptyWhenUnset) {
  ::unsetenv(kName);
  EXPECT_EQ(environment(kName), "");
  EXPECT_EQ(environment_or(kName, "other"), "other");
  EXPECT_EQ(environment_raw(kName), std::nullopt);
  EXPECT_FALSE(environment_on(kName));
  ::setenv(kName, " \tYes \n", 1);
  EXPECT_EQ(environment(kName), "Yes");
  EXPECT_TRUE(environment_on(kName));
  ::unsetenv(kName);
}

TEST(Environment, AFolderMayEndWithABlank) {
  ::setenv(kName, "/tmp/my folder ", 1);
  EXPECT_EQ(environment_or(kName, "/tmp"), "/tmp/my folder ");
  EXPECT_EQ(environment_raw(kName), "/tmp/my folder ");
  ::setenv(kName, "", 1);
  EXPECT_EQ(environment_or(kName, "/tmp"), "/tmp");
  EXPECT_EQ(environment_raw(kName), "") << "set, though empty";
  ::unsetenv(kName);
}

TEST(Environment, WhatIsSecretIsWipedAndKeptFromChildren) {
  for (const char* name : kTokenVariables) ::setenv(name, "secret", 1);
  const auto shows = [](const std::vector<char*>& list) {
    for (const char* entry : list)
      if (entry != nullptr && std::string_view(entry).find("=secret") != std::string_view::npos) return true;
    return false;
  };
  EXPECT_TRUE(shows(environment_without({})));
  EXPECT_FALSE(shows(environment_without(secret_variables())));
  const char* where = ::getenv(kTokenVariables[0]);
  for (const char* name : kTokenVariables) wipe_environment(name);
  EXPECT_EQ(*where, '\0') << "the memory that /proc/PID/environ shows";
  EXPECT_FALSE(shows(environment_without({})));
}

}  // namespace
}  // namespace tacho
