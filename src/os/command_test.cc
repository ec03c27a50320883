#include "os/command.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/units.h"
#include "os/clock.h"
#include "os/fd.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

using Words = std::vector<std::string>;

Result<CommandOutput> sh(const std::string& script, const std::function<bool()>& cancelled = {},
                         int64_t patience_ns = 60 * kNsPerSec) {
  return run_command({"sh", "-c", script}, system_clock().monotonic_ns() + patience_ns, cancelled);
}

TEST(Command, GivesWhatItPrintedAndHowItEnded) {
  const auto done = sh("echo out; echo err >&2; cat; exit 3");
  ASSERT_TRUE(done);
  EXPECT_EQ(WEXITSTATUS(done->status), 3);
  EXPECT_EQ(done->out, "out\n");
  EXPECT_EQ(done->err, "err\n");
  EXPECT_EQ(WTERMSIG(sh("kill -9 $$")->status), 9);
}

TEST(Command, ThatCannotBeStartedSaysWhy) {
  const int64_t deadline_ns = system_clock().monotonic_ns() + 60 * kNsPerSec;
  EXPECT_EQ(run_command({"/no/such/program"}, deadline_ns).error().code, Code::not_available);
  EXPECT_EQ(run_command({"/"}, deadline_ns).error().code, Code::denied);
  EXPECT_EQ(run_command({}, 0).error().code, Code::invalid);
}

TEST(Command, InheritsNothing) {
  const TempDir dir;
  const Fd held(
      ::open((dir / "lock").c_str(), O_CREAT | O_RDWR, 0600));  // not closed on exec, as a lock of the spool's
  const auto done = sh("ls -l /proc/self/fd");
  ASSERT_TRUE(done);
  EXPECT_EQ(done->out.find(dir.path()), std::string::npos) << done->out;
  EXPECT_NE(sh("cut -d' ' -f6 /proc/self/stat")->out, std::to_string(::getsid(0)) + "\n");
}

TEST(Command, EndsWithItsTimeAndWhenNobodyWantsIt) {
  EXPECT_EQ(sh("sleep 1000 & sleep 1000", {}, 50 * kNsPerMs).error().code, Code::io);
  int asked = 0;
  EXPECT_EQ(sh("sleep 1000", [&] { return ++asked > 1; }).error().code, Code::gone);
  const int64_t deadline_ns = system_clock().monotonic_ns() + 60 * kNsPerSec;
  while (::waitpid(-1, nullptr, WNOHANG) >= 0 && system_clock().monotonic_ns() < deadline_ns) ::usleep(1000);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);  // nothing is left
}

TEST(Command, AdoptsWhatItLeavesBehindAndDoesNotWaitForIt) {
  const auto done = sh("sleep 1000 & echo $!");
  ASSERT_TRUE(done);
  const pid_t left = std::atoi(done->out.c_str());
  EXPECT_EQ(::kill(left, SIGKILL), 0);
  EXPECT_EQ(::waitpid(left, nullptr, 0), left);  // it is ours
}

TEST(Command, ThatPrintsWithoutEndIsStopped) {
  EXPECT_EQ(sh("yes").error().code, Code::invalid);
  const auto loud = sh("yes | head -c 100000 >&2; echo x");
  ASSERT_TRUE(loud);
  EXPECT_EQ(loud->err.size(), 4096u);
  EXPECT_EQ(loud->out, "x\n");
}

TEST(Words, AreMadeAsByAShellThatExpandsNothing) {
  EXPECT_EQ(*split_words(""), Words{});
  EXPECT_EQ(*split_words("  a\tb "), (Words{"a", "b"}));
  EXPECT_EQ(*split_words(R"("/opt/my bin/creds" --user 'a "b" \c' d\ e)"),
            (Words{"/opt/my bin/creds", "--user", "a \"b\" \\c", "d e"}));
  EXPECT_EQ(*split_words(R"("a\"b\\c\d" '' x""y)"), (Words{"a\"b\\c\\d", "", "xy"}));
  EXPECT_EQ(*split_words("$HOME ~ * `id` a;b"), (Words{"$HOME", "~", "*", "`id`", "a;b"}));
  EXPECT_EQ(*split_words("a\\"), Words{"a\\"});
  EXPECT_FALSE(split_words("a \"b"));
  EXPECT_FALSE(split_words("it's"));
}

}  // namespace
}  // namespace tacho
