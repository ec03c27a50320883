#include "os/user_folder.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tacho {
namespace {

class UserFolder : public testing::Test {
 protected:
  void SetUp() override {
    const char* home = std::getenv("HOME");
    home_ = home != nullptr ? home : "";
    ::unsetenv("XDG_STATE_HOME");
    ::unsetenv("XDG_CACHE_HOME");
  }
  void TearDown() override { ::setenv("HOME", home_.c_str(), 1); }
  std::string home_;
};

TEST_F(UserFolder, IsInTheHome) {
  ::setenv("HOME", "/home/u", 1);
  EXPECT_EQ(state_folder(), "/home/u/.local/state");
  EXPECT_EQ(cache_folder(), "/home/u/.cache");
}

TEST_F(UserFolder, IsWhatTheVariableNamesUnlessThatIsRelative) {
  ::setenv("HOME", "/home/u", 1);
  ::setenv("XDG_STATE_HOME", "/s", 1);
  EXPECT_EQ(state_folder(), "/s");
  ::setenv("XDG_STATE_HOME", "s", 1);
  EXPECT_EQ(state_folder(), "/home/u/.local/state");
  ::unsetenv("XDG_STATE_HOME");
}

TEST_F(UserFolder, IsNowhereForAUserWithoutAHome) {
  for (const char* home : {"", "here", "/nonexistent"}) {
    ::setenv("HOME", home, 1);
    EXPECT_EQ(home_folder(), "");
    EXPECT_EQ(state_folder(), "");
    EXPECT_EQ(cache_folder(), "");
  }
}

}  // namespace
}  // namespace tacho
