#include "cli/resolve.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <map>

#include "os/file.h"

namespace tacho {
namespace {

using Variables = std::map<std::string, std::string, std::less<>>;
using Arguments = std::vector<std::string>;

// Every test has a folder of its own as working directory, so that no configuration but its own is found.
class Resolve : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tacho-resolve-XXXXXX";
    folder_ = ::mkdtemp(name);
    ASSERT_EQ(::chdir(folder_.c_str()), 0);
    ::setenv("TACHO_ETC_ROOT", (folder_ + "/etc").c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("TACHO_ETC_ROOT");
    ASSERT_EQ(::chdir("/"), 0);
    ASSERT_EQ(::system(("rm -rf " + folder_).c_str()), 0);
  }
  void write(const std::string& path, std::string_view text) {
    const size_t slash = path.rfind('/');
    const Status made = make_directories(slash == std::string::npos ? folder_ : folder_ + "/" + path.substr(0, slash));
    ASSERT_TRUE(made) << path;
    ASSERT_TRUE(write_file_atomically(folder_ + "/" + path, text));
  }
  Result<Settings> resolve_line(const Arguments& arguments, const Variables& variables = {},
                                Subcommand subcommand = kRun, bool terminal = false) {
    const auto line = parse_arguments(arguments, subcommand, Words::command);
    if (!line) return line.error();
    const Environment environment = [&](std::string_view name) {
      const auto found = variables.find(name);
      return found == variables.end() ? std::string() : found->second;
    };
    return resolve(*line, subcommand, {environment, terminal});
  }
  std::string error_of(const Arguments& arguments, const Variables& variables = {}, Subcommand subcommand = kRun) {
    const auto settings = resolve_line(arguments, variables, subcommand);
    return settings ? "no error" : settings.error().message();
  }

  std::string folder_;
};

TEST_F(Resolve, Defaults) {
  const auto s = resolve_line({"--", "true"});
  ASSERT_TRUE(s) << s.error().message();
  EXPECT_EQ(s->mode, Mode::run);
  EXPECT_EQ(s->command, Arguments{"true"});
  EXPECT_EQ(s->interval_ns, 1'000'000'000);
  EXPECT_TRUE(s->outputs.empty());
  EXPECT_EQ(s->format, "");
  EXPECT_FALSE(s->store_dir.empty());
  EXPECT_EQ(s->summary, SummaryStyle::line);
  EXPECT_EQ(s->pss, PssMode::automatic);
  EXPECT_EQ(s->method, TreeMethod::automatic);
  EXPECT_EQ(s->kill_after_ns, 10'000'000'000);
  EXPECT_FALSE(s->timeout_ns);
  EXPECT_FALSE(s->progress_ns);
  EXPECT_EQ(s->color, ColorMode::automatic);
  EXPECT_FALSE(s->quiet || s->strict || s->no_cloud || s->verbose || s->compatible);
}

TEST_F(Resolve, EveryOptionIsStored) {
  const auto s = resolve_line({"-i",
                               "250ms",
                               "-o",
                               "a.csv",
                               "-o",
                               "-",
                               "-f",
                               "json",
                               "--store",
                               "/s",
                               "--summary",
                               "full",
                               "--pss",
                               "never",
                               "--method",
                               "tree",
                               "--hide",
                               "host_name,command",
                               "--hide",
                               "command",
                               "--no-cloud",
                               "--timeout",
                               "5m",
                               "--kill-after",
                               "1s",
                               "--strict",
                               "-n",
                               "j",
                               "--project-name",
                               "p",
                               "--stage-name",
                               "s",
                               "--task-name",
                               "t",
                               "--team",
                               "te",
                               "--env",
                               "e",
                               "--language",
                               "l",
                               "--orchestrator",
                               "o",
                               "--executor",
                               "x",
                               "--external-run-id",
                               "r",
                               "--container-image",
                               "c",
                               "--tag",
                               "a=1",
                               "--tag",
                               "b=2,3",
                               "-v",
                               "--color",
                               "always",
                               "--progress",
                               "2s",
                               "x"});
  ASSERT_TRUE(s) << s.error().message();
  EXPECT_EQ(s->interval_ns, 250'000'000);
  EXPECT_EQ(s->outputs, (Arguments{"a.csv", "-"}));
  EXPECT_EQ(s->format, "json");
  EXPECT_EQ(s->store_dir, "/s");
  EXPECT_EQ(s->summary, SummaryStyle::full);
  EXPECT_EQ(s->pss, PssMode::never);
  EXPECT_EQ(s->method, TreeMethod::tree);
  EXPECT_EQ(s->hide, (Arguments{"host_hostname", "command"}));
  EXPECT_TRUE(s->no_cloud);
  EXPECT_EQ(s->timeout_ns, 300'000'000'000);
  EXPECT_EQ(s->kill_after_ns, 1'000'000'000);
  EXPECT_TRUE(s->strict);
  const Metadata& m = s->metadata;
  EXPECT_EQ((Arguments{m.job_name, m.project_name, m.stage_name, m.task_name, m.team, m.env, m.language, m.orchestrator,
                       m.executor, m.external_run_id, m.container_image}),
            (Arguments{"j", "p", "s", "t", "te", "e", "l", "o", "x", "r", "c"}));
  EXPECT_EQ(m.tags, (Arguments{"a=1", "b=2,3"}));
  EXPECT_TRUE(s->verbose);
  EXPECT_EQ(s->color, ColorMode::always);
  EXPECT_EQ(s->progress_ns, 2'000'000'000);
}

TEST_F(Resolve, EveryMetadataVariable) {
  for (const Option& option : all_options()) {
    if (option.group != Group::metadata || option.tracker_env.empty()) continue;  // not a plain text
    const std::string tacho(option.tacho_env), tracker(option.tracker_env);
    const auto value = [&](const Variables& variables) {
      const auto s = resolve_line({"x"}, variables);
      const Metadata& m = s->metadata;
      return m.job_name + m.project_name + m.stage_name + m.task_name + m.team + m.env + m.language + m.orchestrator +
             m.executor + m.external_run_id + m.container_image;
    };
    EXPECT_EQ(value({{tacho, "one"}}), "one") << tacho;
    EXPECT_EQ(value({{tracker, "two"}}), "two") << tracker;
    EXPECT_EQ(value({{tacho, "one"}, {tracker, "two"}}), "one") << tacho;
    EXPECT_EQ(value({{tacho, ""}, {tracker, "two"}}), "two") << tacho;
  }
}

TEST_F(Resolve, Precedence) {
  write("tacho.toml", "interval = 5\njob_name = \"file\"\noutput = \"file.csv\"\ntags = [\"from=file\"]");
  EXPECT_EQ(resolve_line({"x"})->interval_ns, 5'000'000'000);
  EXPECT_EQ(resolve_line({"x"}, {{"TRACKER_INTERVAL", "4"}})->interval_ns, 4'000'000'000);
  EXPECT_EQ(resolve_line({"x"}, {{"TRACKER_INTERVAL", "4"}, {"TACHO_INTERVAL", "3"}})->interval_ns, 3'000'000'000);
  EXPECT_EQ(resolve_line({"-i2", "x"}, {{"TACHO_INTERVAL", "3"}})->interval_ns, 2'000'000'000);
  EXPECT_EQ(resolve_line({"x"}, {{"TACHO_INTERVAL", ""}, {"TRACKER_INTERVAL", ""}})->interval_ns, 5'000'000'000);
  EXPECT_EQ(resolve_line({"-i2", "-i", "1", "x"})->interval_ns, 1'000'000'000);
  EXPECT_EQ(resolve_line({"-c", "tacho.toml", "x"})->outputs, Arguments{"file.csv"});
  EXPECT_EQ(resolve_line({"x"}, {{"TACHO_CONFIG", "tacho.toml"}})->outputs, Arguments{"file.csv"});
  EXPECT_TRUE(resolve_line({"x"})->outputs.empty());  // nobody named the file: it does not say where rows go
  EXPECT_EQ(resolve_line({"x"}, {{"TRACKER_OUTPUT", "t.csv"}})->outputs, Arguments{"t.csv"});
  EXPECT_EQ(resolve_line({"-oa", "-ob", "x"}, {{"TACHO_OUTPUT", "e.csv"}})->outputs, (Arguments{"a", "b"}));
  EXPECT_EQ(resolve_line({"x"})->metadata.tags, Arguments{"from=file"});
  EXPECT_EQ(resolve_line({"x"}, {{"TACHO_TAGS", "a=1, b=2,"}})->metadata.tags, (Arguments{"a=1", "b=2"}));
  EXPECT_EQ(resolve_line({"--tag", "c=3", "x"}, {{"TACHO_TAGS", "a=1"}})->metadata.tags, Arguments{"c=3"});
}

TEST_F(Resolve, StoreAndNoStoreShareOnePrecedence) {
  EXPECT_EQ(resolve_line({"x"}, {{"TACHO_STORE", "/e"}})->store_dir, "/e");
  EXPECT_TRUE(resolve_line({"x"}, {{"TACHO_STORE", "/e"}})->store_named);
  EXPECT_FALSE(resolve_line({"x"})->store_named);
  EXPECT_EQ(resolve_line({"--no-store", "x"}, {{"TACHO_STORE", "/e"}})->store_dir, "");
  write("tacho.toml", "no_store = true");
  EXPECT_EQ(resolve_line({"x"})->store_dir, "");
  EXPECT_EQ(resolve_line({"--store", "/s", "x"})->store_dir, "/s");
  EXPECT_EQ(resolve_line({"x"}, {{"TACHO_STORE", "/e"}})->store_dir, "/e");
}

TEST_F(Resolve, HiddenFieldsAddUp) {
  write("tacho.toml", "hide = [\"host_ip\"]");
  EXPECT_EQ(resolve_line({"--hide", "command", "x"}, {{"TACHO_HIDE", "team,env"}})->hide,
            (Arguments{"host_ip", "team", "env", "command"}));
}

TEST_F(Resolve, FlagsByWords) {
  EXPECT_TRUE(resolve_line({"x"}, {{"TRACKER_QUIET", "yes"}})->quiet);
  EXPECT_FALSE(resolve_line({"x"}, {{"TRACKER_QUIET", "1"}, {"TACHO_QUIET", "off"}})->quiet);
  EXPECT_TRUE(resolve_line({"-q", "x"}, {{"TACHO_QUIET", "0"}})->quiet);
  EXPECT_FALSE(resolve_line({"--quiet=no", "x"}, {{"TACHO_QUIET", "1"}})->quiet);
  EXPECT_TRUE(resolve_line({"x"}, {{"TACHO_NO_CLOUD", "On"}})->no_cloud);
  EXPECT_EQ(error_of({"x"}, {{"TACHO_QUIET", "maybe"}}),
            "TACHO_QUIET: not a yes or no: maybe (write 1 or 0, true or false, yes or no, on or off)");
}

TEST_F(Resolve, QuietMeansNoSummaryAndNoProgress) {
  const auto s = resolve_line({"-q", "--summary", "json", "--progress", "1s", "-o", "a.csv", "x"});
  EXPECT_EQ(s->summary, SummaryStyle::none);
  EXPECT_FALSE(s->progress_ns);
  EXPECT_EQ(s->outputs, Arguments{"a.csv"});
}

TEST_F(Resolve, Intervals) {
  for (const char* good : {"10ms", "0.01", "1h", "3600", "0.25", "250ms", "5m"})
    EXPECT_TRUE(resolve_line({"-i", good, "x"})) << good;
  for (const char* bad :
       {"0", "-1", "abc", "", "nan", "inf", "9ms", "0.009", "3601", "1h1s", "1e3", "1s x", "1d", " "}) {
    EXPECT_TRUE(error_of({"-i", bad, "x"}).starts_with("-i: ")) << bad << ": " << error_of({"-i", bad, "x"});
    const std::string by_variable = error_of({"x"}, {{"TRACKER_INTERVAL", bad}});
    EXPECT_TRUE(by_variable.starts_with(*bad == '\0' ? "no error" : "TRACKER_INTERVAL: ")) << bad;
  }
  EXPECT_EQ(error_of({"--interval=9ms", "x"}), "--interval: too short: 9ms (from 10ms to 1h)");
}

TEST_F(Resolve, BadValuesNameTheirSource) {
  EXPECT_EQ(error_of({"--summary", "ful", "x"}), "--summary: unknown word: ful (one of none, line, full, json)");
  EXPECT_EQ(error_of({"-f", "xml", "x"}), "-f: unknown word: xml (one of csv, json)");
  EXPECT_EQ(error_of({"--progress", "often", "x"}),
            "--progress: unknown word: often (one of auto, never, or a duration)");
  EXPECT_EQ(error_of({"--tag", "novalue", "x"}), "--tag: not a tag: novalue (write KEY=VALUE)");
  EXPECT_EQ(error_of({"--tag", "=v", "x"}), "--tag: not a tag: =v (write KEY=VALUE)");
  EXPECT_EQ(error_of({"x"}, {{"TACHO_TAGS", "a=1,b"}}), "TACHO_TAGS: not a tag: b (write KEY=VALUE)");
  EXPECT_EQ(error_of({"--hide", "host_ipp", "x"}), "--hide: unknown field host_ipp; did you mean host_ip?");
  EXPECT_EQ(error_of({"x"}, {{"TACHO_METHOD", "magic"}}),
            "TACHO_METHOD: unknown word: magic (one of auto, cgroup, tree)");
  EXPECT_EQ(error_of({"--pid", "0"}), "--pid: not a process id: 0 (a whole number above 0)");
  EXPECT_EQ(error_of({"-p", "12x"}), "-p: not a process id: 12x (a whole number above 0)");
  EXPECT_TRUE(error_of({"--timeout", "0", "x"}).starts_with("--timeout: not a duration: 0"));
  EXPECT_TRUE(error_of({"--kill-after", "soon", "x"}).starts_with("--kill-after: not a duration: soon"));
  EXPECT_TRUE(error_of({"-o", "", "x"}).starts_with("-o: is empty"));
  EXPECT_TRUE(
      error_of({"--probe", "no_such_probe_at_all", "x"}).starts_with("--probe: unknown probe no_such_probe_at_all"));
  write("tacho.toml", "\n\ninterval = \"never\"");
  EXPECT_TRUE(error_of({"-i", "1", "x"}).starts_with("tacho.toml:3: interval: not a duration: never"))
      << error_of({"x"});
}

TEST_F(Resolve, ProbesAreSwitchedOneByOne) {
  ASSERT_GE(all_probes().size(), 2u);
  const std::string one(all_probes()[0].name), two(all_probes()[1].name);
  write("tacho.toml", "no_probe = [\"" + one + "\", \"" + two + "\"]");
  const auto s = resolve_line({"--probe", one, "x"});
  EXPECT_EQ(s->probes_on, Arguments{one});
  EXPECT_EQ(s->probes_off, Arguments{two});
}

TEST_F(Resolve, Colours) {
  EXPECT_EQ(resolve_line({"x"}, {{"NO_COLOR", "1"}})->color, ColorMode::never);
  EXPECT_EQ(resolve_line({"x"}, {{"NO_COLOR", ""}})->color, ColorMode::automatic);
  EXPECT_EQ(resolve_line({"x"}, {{"CLICOLOR_FORCE", "1"}})->color, ColorMode::always);
  EXPECT_EQ(resolve_line({"x"}, {{"CLICOLOR_FORCE", "0"}})->color, ColorMode::automatic);
  EXPECT_EQ(resolve_line({"x"}, {{"NO_COLOR", "1"}, {"CLICOLOR_FORCE", "1"}})->color, ColorMode::never);
  EXPECT_EQ(resolve_line({"--color", "always", "x"}, {{"NO_COLOR", "1"}})->color, ColorMode::always);
  EXPECT_TRUE(use_color(ColorMode::always, -1));
  EXPECT_FALSE(use_color(ColorMode::never, 1));
  EXPECT_FALSE(use_color(ColorMode::automatic, -1));
}

TEST_F(Resolve, ProgressOnATerminal) {
  EXPECT_FALSE(resolve_line({"x"}, {}, kRun, true)->progress_ns);
  EXPECT_EQ(resolve_line({"--pid", "1"}, {}, kAttach, true)->progress_ns, 10'000'000'000);
  EXPECT_EQ(resolve_line({}, {}, kWatch, true)->progress_ns, 10'000'000'000);
  EXPECT_FALSE(resolve_line({}, {}, kWatch, false)->progress_ns);
  EXPECT_FALSE(resolve_line({"--progress", "never"}, {}, kWatch, true)->progress_ns);
  EXPECT_EQ(resolve_line({"--progress", "0.5", "x"}, {}, kRun, false)->progress_ns, 500'000'000);
}

TEST_F(Resolve, ModesOfRunAttachAndWatch) {
  EXPECT_EQ(resolve_line({"--pid", "7"})->mode, Mode::attach);
  const auto wrapped = resolve_line({"--pid", "7", "true"});
  EXPECT_EQ(wrapped->mode, Mode::run);
  EXPECT_EQ(wrapped->attach_pid, 0);
  EXPECT_EQ(resolve_line({"--cgroup", "/a"}, {}, kAttach)->attach_cgroup, "/a");
  EXPECT_EQ(error_of({"--cgroup", "/a", "--pid", "7"}, {}, kAttach),
            "--pid and --cgroup exclude each other (give one of them)");
  write("tacho.toml", "[job]\npid = 9");
  EXPECT_EQ(resolve_line({}, {}, kAttach)->attach_pid, 9);
  EXPECT_EQ(resolve_line({"--cgroup", "/a"}, {}, kAttach)->attach_pid, 0);
  EXPECT_EQ(resolve_line({}, {}, kWatch)->mode, Mode::watch);
}

TEST_F(Resolve, WhereTheConfigurationIs) {
  write("etc/tacho/tacho.toml", "job_name = \"etc\"");
  EXPECT_EQ(resolve_line({"x"})->metadata.job_name, "etc");
  write("home/.config/tacho/tacho.toml", "job_name = \"home\"");
  EXPECT_EQ(resolve_line({"x"}, {{"HOME", folder_ + "/home"}})->metadata.job_name, "home");
  write("xdg/tacho/tacho.toml", "job_name = \"xdg\"");
  const Variables variables{{"HOME", folder_ + "/home"}, {"XDG_CONFIG_HOME", folder_ + "/xdg"}};
  EXPECT_EQ(resolve_line({"x"}, variables)->metadata.job_name, "xdg");
  write("tacho.toml", "job_name = \"here\"");
  EXPECT_EQ(resolve_line({"x"}, variables)->metadata.job_name, "here");
  write("named.toml", "job_name = \"named\"");
  EXPECT_EQ(resolve_line({"x"}, {{"TACHO_CONFIG", "named.toml"}})->metadata.job_name, "named");
  write("flag.toml", "job_name = \"flag\"");
  EXPECT_EQ(resolve_line({"-c", "flag.toml", "x"}, {{"TACHO_CONFIG", "named.toml"}})->metadata.job_name, "flag");
}

TEST_F(Resolve, ANamedConfigurationMustBeThere) {
  EXPECT_EQ(error_of({"-c", "none.toml", "x"}),
            "-c: cannot read the configuration: none.toml (No such file or directory)");
  EXPECT_EQ(error_of({"x"}, {{"TACHO_CONFIG", "none.toml"}}),
            "TACHO_CONFIG: cannot read the configuration: none.toml (No such file or directory)");
  EXPECT_TRUE(error_of({"-c", "", "x"}).starts_with("-c: cannot read the configuration"));
  EXPECT_TRUE(error_of({"-c", ".", "x"}).starts_with("-c: cannot read the configuration"));
}

class ResourceTracker : public Resolve {
 protected:
  Result<Settings> tracker(const Arguments& arguments, const Variables& variables = {}) {
    return resolve_line(arguments, variables, kTracker, true);
  }
};

TEST_F(ResourceTracker, Defaults) {
  const auto s = tracker({"make", "-j8"});
  ASSERT_TRUE(s) << s.error().message();
  EXPECT_TRUE(s->compatible);
  EXPECT_EQ(s->mode, Mode::run);
  EXPECT_EQ(s->command, (Arguments{"make", "-j8"}));
  EXPECT_EQ(s->format, "json");
  EXPECT_EQ(s->outputs, Arguments{"stderr:"});
  EXPECT_EQ(s->store_dir, "");
  EXPECT_EQ(s->summary, SummaryStyle::none);
  EXPECT_FALSE(s->progress_ns);
  EXPECT_EQ(s->interval_ns, 1'000'000'000);
}

TEST_F(ResourceTracker, WithoutCommandItAttachesOrWatches) {
  EXPECT_EQ(tracker({})->mode, Mode::watch);
  EXPECT_EQ(tracker({"-p", "5"})->mode, Mode::attach);
  EXPECT_EQ(tracker({"-p", "5", "--", "true"})->mode, Mode::run);
}

TEST_F(ResourceTracker, Output) {
  EXPECT_EQ(tracker({"-o", "-"})->outputs, Arguments{"-"});
  EXPECT_EQ(tracker({"-f", "csv", "-o", "f"})->format, "csv");
  EXPECT_EQ(tracker({}, {{"TRACKER_OUTPUT", "f.json"}})->outputs, Arguments{"f.json"});
  EXPECT_TRUE(tracker({"--quiet", "-o", "f"})->outputs.empty());
  EXPECT_TRUE(tracker({}, {{"TRACKER_QUIET", "on"}})->outputs.empty());
  EXPECT_EQ(tracker({}, {{"TRACKER_QUIET", ""}})->outputs, Arguments{"stderr:"});
}

TEST_F(ResourceTracker, TheStoreIsOnWhenAskedFor) {
  EXPECT_EQ(tracker({}, {{"TACHO_STORE", "/e"}})->store_dir, "/e");
  EXPECT_EQ(tracker({"--store", "/s"})->store_dir, "/s");
}

TEST_F(ResourceTracker, ItsFileNeverStopsTheRun) {
  write("tacho.toml", "nonsense = 1");
  write("resource-tracker.toml", "other = 1\n[job]\nname = \"n\"\n[tracker]\ninterval_secs = 3");
  EXPECT_EQ(tracker({})->interval_ns, 3'000'000'000);
  EXPECT_EQ(tracker({})->metadata.job_name, "n");
  EXPECT_EQ(tracker({"-i", "2", "-n", "m"})->interval_ns, 2'000'000'000);
  write("resource-tracker.toml", "this is not TOML");
  EXPECT_EQ(tracker({})->interval_ns, 1'000'000'000);
  write("resource-tracker.toml", "[tracker]\ninterval_secs = 0\n[job]\nname = \"n\"");
  EXPECT_TRUE(tracker({}));
  testing::internal::CaptureStderr();
  EXPECT_TRUE(tracker({"-c", "none.toml"}));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("none.toml"), std::string::npos);
}

TEST_F(ResourceTracker, BadFlagsAreRefused) {
  EXPECT_FALSE(tracker({"-i", "0"}));
  EXPECT_FALSE(tracker({"-i", "-5"}));
  EXPECT_FALSE(tracker({"--tag", "x"}));
  EXPECT_FALSE(tracker({}, {{"TRACKER_QUIET", "perhaps"}}));
}

}  // namespace
}  // namespace tacho
