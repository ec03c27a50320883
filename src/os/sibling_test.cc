#include "os/sibling.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/path.h"
#include "os/file.h"

namespace tacho {
namespace {

TEST(Sibling, StandsInTheFolderOfThisProgram) {
  const std::string self = read_link("/proc/self/exe");
  EXPECT_EQ(sibling_path("tacho-deliver"), parent_folder(self) + "/tacho-deliver");
  EXPECT_EQ(sibling_path(std::string(last_part(self))), self);
}

TEST(Sibling, IsNeverFoundInTheCurrentFolder) {
  EXPECT_EQ(sibling_of("/opt/bin/tacho", "tacho-deliver"), "/opt/bin/tacho-deliver");
  EXPECT_EQ(sibling_of("/tacho", "tacho-deliver"), "/tacho-deliver");
  EXPECT_EQ(sibling_of("", "tacho-deliver"), "/tacho-deliver")
      << "without /proc a stranger's file here must not get the token";
}

TEST(Sibling, TakesThePlaceOfThisProcess) {
  const std::string self(last_part(read_link("/proc/self/exe")));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(become_sibling(self, {"--gtest_filter=None.AtAll", "--gtest_brief=1"}) == 0 ? 3 : 4);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "it ran, and found no test to fail";
}

TEST(Sibling, SaysWhyItCouldNot) { EXPECT_EQ(become_sibling("no-such-program", {}), ENOENT); }

}  // namespace
}  // namespace tacho
