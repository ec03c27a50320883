#include <gtest/gtest.h>

#include <array>

#include "cli/commands.h"

namespace tacho {
namespace {

// What the subcommand that was reached was called with.
std::string& reached() {
  static std::string text;
  return text;
}
int note(const Invocation& call) {
  reached() = call.command.name;
  for (const std::string& word : call.arguments) reached() += " [" + word + "]";
  return 7;
}

constexpr auto kTable = std::to_array<Command>({
    {"run", kRun, "[OPTIONS] -- CMD", "Start CMD.", note},
    {"attach", kAttach, "--pid PID", "Follow.", note},
    {"watch", kWatch, "", "Watch.", note},
    {"show", kShow, "RUN", "Show.", note},
    {"help", kOther, "[COMMAND]", "Help.", help_command},
    {"version", kOther, "", "Version.", version_command},
    {"hidden", kOther, "", "Hidden.", note, true},
});

struct Said {
  int status;
  std::string reached, out, err;
};
Said call(std::vector<std::string> arguments, std::string_view program = "/usr/bin/tacho") {
  reached().clear();
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int status = dispatch(kTable, program, arguments);
  std::fflush(stdout);
  return {status, reached(), testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

TEST(Dispatch, FindsSubcommands) {
  EXPECT_EQ(call({"run", "-i", "1", "--", "x"}).reached, "run [-i] [1] [--] [x]");
  EXPECT_EQ(call({"show", "last"}).status, 7);
  EXPECT_EQ(call({"hidden"}).reached, "hidden");
}

TEST(Dispatch, DashesAloneAreRun) {
  EXPECT_EQ(call({"--", "make", "-j8"}).reached, "run [--] [make] [-j8]");
  EXPECT_EQ(call({"-i1", "--", "make"}).reached, "run [-i1] [--] [make]");
}

TEST(Dispatch, OptionsBeforeASubcommandAreExplained) {
  const Said said = call({"-i1", "watch"});
  EXPECT_EQ(said.status, 125);
  EXPECT_EQ(said.err, "tacho: options follow the subcommand (write tacho watch -i1 ...)\n");
  EXPECT_EQ(call({"-q", "make"}).err, "tacho: options follow the subcommand (write tacho run [OPTIONS] -- make)\n");
}

TEST(Dispatch, UnknownSubcommandsNameTheNearestAndTheWayToRun) {
  EXPECT_EQ(call({"wtach"}).status, 125);
  EXPECT_EQ(call({"wtach"}).err,
            "tacho: unknown subcommand wtach; did you mean watch? (to record a command: tacho run -- wtach)\n");
  EXPECT_EQ(call({"sleep", "5"}).err.find("to record a command: tacho run -- sleep") != std::string::npos, true);
  EXPECT_EQ(call({"rn", "-i", "1", "--", "true"}).err,
            "tacho: unknown subcommand: rn (write tacho run -i 1 -- true)\n");
  EXPECT_EQ(call({"hiddn"}).err.find("hidden"), std::string::npos);
}

TEST(Dispatch, HelpAndVersion) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{}, {"--help"}, {"-h"}, {"help"}}) {
    const Said said = call(words);
    EXPECT_EQ(said.status, 0);
    EXPECT_TRUE(said.out.starts_with("Examples:\n"));
    EXPECT_EQ(said.err, "");
  }
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--version"}, {"-V"}, {"version"}}) {
    EXPECT_EQ(call(words).status, 0);
    EXPECT_TRUE(call(words).out.starts_with("tacho " TACHO_VERSION "\n"));
  }
  EXPECT_NE(call({"help", "attach"}).out.find("Usage: tacho attach"), std::string::npos);
  EXPECT_NE(call({"help", "--", "attach"}).out.find("Usage: tacho attach"), std::string::npos);
  EXPECT_EQ(call({"help", "atach"}).status, 125);
}

TEST(Dispatch, TheOlderNameHasItsOwnHelp) {
  const Said said = call({"--help"}, "./resource-tracker");
  EXPECT_EQ(said.status, 0);
  EXPECT_TRUE(said.out.starts_with("Examples:\n  resource-tracker "));
  EXPECT_NE(said.out.find("Usage: resource-tracker [OPTIONS]"), std::string::npos);
  EXPECT_EQ(call({"--bogus"}, "resource-tracker").status, 125);
  EXPECT_EQ(call({"-i", "0", "true"}, "resource-tracker").status, 125);
  EXPECT_EQ(call({"-V"}, "resource-tracker").out, "tacho " TACHO_VERSION "\n");
}

TEST(Record, RefusesWhatItCannotStart) {
  const Command run{"run", kRun, "", "", run_command}, attach{"attach", kAttach, "", "", attach_command},
      watch{"watch", kWatch, "", "", watch_command};
  const auto refused = [](const Command& command, std::vector<std::string> arguments) {
    testing::internal::CaptureStderr();
    const int status = command.run({command, {}, arguments});
    return std::to_string(status) + " " + testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(refused(run, {}), "125 tacho: no command to run (write tacho run -- CMD ARGS...)\n");
  EXPECT_EQ(refused(run, {"--"}), "125 tacho: no command to run (write tacho run -- CMD ARGS...)\n");
  EXPECT_EQ(refused(run, {"--intervall", "1"}), "125 tacho: unknown option --intervall; did you mean --interval?\n");
  EXPECT_EQ(refused(attach, {}), "125 tacho: nothing to attach to (give --pid PID or --cgroup PATH)\n");
  EXPECT_EQ(refused(attach, {"--pid", "1", "x"}),
            "125 tacho: attach takes no command: x (to record a command: tacho run -- x; a process: tacho attach --pid "
            "PID, and pgrep x lists them)\n");
  EXPECT_EQ(refused(attach, {"4242"}),
            "125 tacho: a process is named by --pid: 4242 (write tacho attach --pid 4242)\n");
  EXPECT_EQ(
      refused(attach, {"--name", "python"}),
      "125 tacho: unknown option --name (a process is named by its number: tacho attach --pid PID; pgrep NAME lists "
      "them)\n");
  EXPECT_EQ(
      refused(run, {"--pid", "1", "--", "true"}),
      "125 tacho: --pid and a command exclude each other: 1 (write tacho attach --pid 1, or tacho run -- true)\n");
  EXPECT_EQ(refused(watch, {"x"}), "125 tacho: watch takes no command: x (to record a command: tacho run -- x)\n");
}

}  // namespace
}  // namespace tacho
