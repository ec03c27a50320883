#include "cli/coach.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <regex>

#include "cli/variables.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

TEST(Coach, NamesTheCommandThatWasMeant) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> rows{
      {{"a | b"}, "tacho run -- sh -c 'a | b'"},
      {{"echo it's"}, "tacho run -- sh -c \"echo it's\""},
      {{"sort < in > out"}, "tacho run -- sh -c 'sort < in > out'"},
      {{"FOO=1", "cmd", "x y"}, "tacho run -- env FOO=1 cmd 'x y'"},
      {{"FOO=1 cmd"}, "tacho run -- sh -c 'FOO=1 cmd'"},
      {{"cd", "/data"}, "(cd /data && tacho run -- CMD)"},
      {{"cd"}, "(cd FOLDER && tacho run -- CMD)"},
      {{"source", "env.sh"}, "tacho run -- bash -c 'source env.sh; CMD'"},
      {{"ulimit", "-n", "64"}, "tacho run -- sh -c 'ulimit -n 64; CMD'"},
      {{"exec", "make", "-j8"}, "tacho run -- make -j8"},
      {{"/tmp"}, "tacho run -- ls /tmp"},
      {{"nosuch.py"}, "tacho run -- python3 PATH/nosuch.py"},
      {{"if", "true"}, "sh -c 'LINE'"},
      {{"-i", "1s", "true"}, "tacho run -i ... -- CMD"},
  };
  for (const auto& [command, wanted] : rows)
    EXPECT_NE(coach_command(command).find(wanted), std::string::npos) << coach_command(command);
  EXPECT_EQ(coach_command({"nosuchprogram"}), "");
  EXPECT_EQ(coach_command({"/nosuch/program.py"}), "");
  EXPECT_TRUE(coach_command({"./nosuch.sh"}).starts_with("there is no such file; its path begins here, in /"));
  EXPECT_EQ(coach_command({}), "");
}

TEST(Coach, KnowsWhatOtherToolsCallIt) {
  EXPECT_EQ(coach_subcommand("ls"), "runs");
  EXPECT_EQ(coach_subcommand("record"), "run");
  EXPECT_EQ(coach_subcommand("train.py"), "");
}

TEST(Coach, LooksAtTheFile) {
  const TempDir dir;
  const auto put = [&](const std::string& name, mode_t mode) {
    std::ofstream(dir / name) << "x";
    ::chmod((dir / name).c_str(), mode);
    return dir / name;
  };
  const std::string script = put("job.py", 0644), tool = put("tool", 0644), good = put("good.py", 0755);
  EXPECT_NE(coach_command({script, "--epochs", "3"}).find("tacho run -- python3 " + script + " --epochs 3"),
            std::string::npos);
  EXPECT_NE(coach_command({tool}).find("chmod +x " + tool), std::string::npos);
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(dir.path());
  EXPECT_NE(coach_command({"good.py", "a"}).find("tacho run -- ./good.py a"), std::string::npos);
  EXPECT_NE(coach_command({"job.py"}).find("tacho run -- python3 job.py"), std::string::npos);
  std::filesystem::current_path(before);
}

TEST(Variables, EveryOneThatTheSourceReadsIsKnown) {
  const std::regex literal("\"(TACHO_[A-Z0-9_]+)\"");
  size_t seen = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(TACHO_FIXTURES "/../../src")) {
    const std::string path = entry.path();
    if (!path.ends_with(".cc") && !path.ends_with(".h")) continue;
    if (path.ends_with("_test.cc")) continue;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
      for (std::sregex_iterator at(line.begin(), line.end(), literal), end; at != end; ++at, ++seen)
        EXPECT_TRUE(is_known_variable((*at)[1].str())) << path << ": " << line;
  }
  EXPECT_GT(seen, 50u);
  EXPECT_FALSE(is_known_variable("TACHO_INTERVALL"));
}

TEST(Variables, AnUnknownOneIsNamedWithWhatWasMeant) {
  ::setenv("TACHO_INTERVALL", "2s", 1);
  bool found = false;
  for (const std::string& text : unknown_variables())
    found = found || text == "nobody reads the variable TACHO_INTERVALL; did you mean TACHO_INTERVAL?";
  EXPECT_TRUE(found);
  ::unsetenv("TACHO_INTERVALL");
}

}  // namespace
}  // namespace tacho
