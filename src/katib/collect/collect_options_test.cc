#include "katib/collect/collect_options.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tacho {
namespace {

Result<CollectOptions> parse(std::vector<std::string> words, CalledAs called_as = CalledAs::collect) {
  return parse_collect_options(words, called_as, [](std::string_view) { return std::string(); });
}

std::vector<std::string> with(std::vector<std::string> more) {
  std::vector<std::string> words{"-t", "trial", "-m", "acc;loss", "-s-db", "db:6789"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(CollectOptions, StockArguments) {
  const auto options = parse({"-t",           "a",          "-m",           "acc;loss",   "-o-type",
                              "minimize",     "-s-db",      "db:6789",      "-path",      "/var/log/katib/metrics.log",
                              "-f",           "x;y",        "-format",      "JSON",       "-w",
                              "false",        "-stop-rule", "acc;1;less;2", "-stop-rule", "loss;1;less;2",
                              "-s-earlystop", "es:6788"});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->kind->name, "StdOut");
  EXPECT_EQ(options->format, "JSON");
  EXPECT_EQ(options->metrics, (std::vector<std::string>{"acc", "loss"}));
  EXPECT_EQ(options->filters.size(), 2u);
  EXPECT_EQ(options->stop_rules.size(), 2u);
  EXPECT_FALSE(options->wait_all);
  EXPECT_EQ(options->objective_type, ObjectiveType::minimize);
  EXPECT_EQ(options->folder(), "/var/log/katib");
}

TEST(CollectOptions, EventCollectorsDialect) {
  const auto options = parse(
      {"--trial_name", "a", "--metric_names", "acc", "--db_manager_server_addr=db:1", "--poll_interval", "3",
       "--timeout", "9", "--wait_all_processes", "False", "--metric_filters", "x", "--objective_type", "maximize"},
      CalledAs::tf_event_collector);
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->kind->name, "TensorFlowEvent");
  EXPECT_EQ(options->path, "/log");
  EXPECT_EQ(options->poll_ns, 3'000'000'000);
  EXPECT_EQ(options->timeout_ns, 9'000'000'000);
  EXPECT_EQ(options->folder(), "/log");
}

TEST(CollectOptions, AnAddressHasAPort) {
  for (const char* bad : {"db", "db:", "db:x", "db:0", "db:65536", ":6789", "http://db"}) {
    const auto options = parse({"-t", "a", "-m", "acc", "-s-db", bad});
    ASSERT_FALSE(options) << bad;
    EXPECT_NE(options.error().message().find(bad), std::string::npos);
    EXPECT_FALSE(parse(with({"-s-earlystop", bad}))) << bad;
  }
  for (const char* good : {"db:6789", "127.0.0.1:1", "[::1]:6789", "katib-db-manager.kubeflow:65535"})
    EXPECT_TRUE(parse({"-t", "a", "-m", "acc", "-s-db", good})) << good;
}

TEST(CollectOptions, KindIsInferred) {
  EXPECT_EQ(parse(with({"-path", "/x/y", "-format", "TEXT"}))->kind->name, "StdOut");
  EXPECT_EQ(parse(with({"-path", "/x/y"}))->kind->name, "TensorFlowEvent");
  EXPECT_EQ(parse(with({}))->kind->name, "PrometheusMetric");
  EXPECT_EQ(parse(with({"-path", "/x/y", "--kind", "fileCollector"}))->kind->name, "File");
  EXPECT_EQ(parse(with({"--kind", "PROMETHEUSmetric", "-path", "/x"}))->kind->name, "PrometheusMetric");
  EXPECT_EQ(parse(with({"--kind", "Custom", "-path", "/x"}))->kind->name, "TensorFlowEvent");
  EXPECT_EQ(parse({"--kind", "noneCollector"})->kind->name, "Push");
}

// The webhook took tensorFlowEventCollector and passed it on; here it was refused.
TEST(CollectOptions, TakesEveryKindInEverySpelling) {
  for (const CollectorKind& kind : collector_kinds()) {
    std::vector<std::string> words{std::string(kind.name)};
    for (const std::string_view spelling : kind.spellings)
      if (!spelling.empty()) words.emplace_back(spelling);
    for (const std::string& word : words) {
      const auto options = parse(with({"-path", "/x/y", "--kind", word}));
      ASSERT_TRUE(options) << word;
      const bool custom = kind.source == CollectorKind::Source::container;
      EXPECT_EQ(options->kind->name, custom ? "TensorFlowEvent" : kind.name) << word;
    }
  }
  const auto unknown = parse(with({"--kind", "std"}));
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message().find(collector_kind_names()), std::string::npos);
  for (const CollectFlag& flag : collect_flags()) {
    if (flag.name == "kind") { EXPECT_TRUE(flag.help.starts_with(collector_kind_names())) << flag.help; }
  }
}

TEST(CollectOptions, RepeatedItemsAreNotSplit) {
  const auto options = parse({"-t", "a", "-s-db", "b:1", "-m", "x;y", "-m", "z", "-f", "(a);(b)", "-f", "(c)(d)"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->metrics, (std::vector<std::string>{"x;y", "z"}));
  EXPECT_EQ(options->filters, (std::vector<std::string>{"(a);(b)", "(c)(d)"}));
}

TEST(CollectOptions, QuotedSemicolonOfASeries) {
  const auto options = parse({"-t", "a", "-s-db", "b:1", "-m", "x{l=\"a;b\"};y"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->metrics, (std::vector<std::string>{"x{l=\"a;b\"}", "y"}));
}

TEST(CollectOptions, Faults) {
  EXPECT_FALSE(parse({"-m", "", "-t", "a", "-s-db", "b:1"}));
  EXPECT_FALSE(parse({"-m", "a", "-t", "", "-s-db", "b:1"}));
  EXPECT_FALSE(parse({"-m", "a", "-t", "a"}));
  for (const std::vector<std::string>& bad : {std::vector<std::string>{"-path", "x", "-format", "text"},
                                              {"-path", "x", "-format", ""},
                                              {"--grace", "-1s"},
                                              {"--report", "never"},
                                              {"--http-port", "0"},
                                              {"--http-port", "70000"},
                                              {"--http-header", "nothing"},
                                              {"--active-when", "RANK"},
                                              {"--nonfinite", "x"},
                                              {"-o-type", "best"}})
    EXPECT_FALSE(parse(with(bad))) << bad[0] << " " << bad[1];
}

TEST(CollectOptions, PollIntervalsOfTheOlderCollectors) {
  for (const char* often : {"0", "-1s", "-0", "1ns"}) {
    EXPECT_EQ(parse(with({"-path", "/x/y", "-format", "TEXT", "-p", often}))->poll_ns, 10'000'000) << often;
  }
  for (const char* bad : {"0", "-1", "1.5"}) EXPECT_FALSE(parse(with({"-path", "/x/y", "-p", bad}))) << bad;
}

TEST(CollectOptions, OwnFlags) {
  const auto options = parse(
      with({"--report", "end", "--state=", "--attempts", "replace", "--ignore-process", "a, b", "--resources", "--echo",
            "false", "--http-scheme", "HTTPS", "--http-path", "m", "--profile", "tacho", "--no-timestamp", "zero"}));
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->report_ns, 0);
  EXPECT_EQ(options->state, "");
  EXPECT_TRUE(options->replace_attempts);
  EXPECT_EQ(options->ignored_processes, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(options->resources);
  EXPECT_EQ(options->echo, false);
  EXPECT_EQ(options->http_scheme, "https");
  EXPECT_EQ(options->http_path, "/m");
  EXPECT_EQ(options->profile, Profile::tacho);
  EXPECT_EQ(options->arrival_time, false);
}

TEST(CollectOptions, Passive) {
  const auto environment = [](std::string_view name) { return std::string(name == "RANK" ? "1" : ""); };
  const std::vector<std::string> first{"-m", "a", "--active-when", "RANK=0"},
      second{"-m", "a", "--active-when", "RANK=1"};
  const auto passive = parse_collect_options(first, CalledAs::collect, environment);
  ASSERT_TRUE(passive);
  EXPECT_TRUE(passive->passive);
  EXPECT_FALSE(parse_collect_options(second, CalledAs::collect, environment));  // active, and no -t
}

// Where the operator has set no label, the pod's host name tells which worker it is.
TEST(CollectOptions, WorkerZeroByHostName) {
  const auto is_passive = [](const std::string& index, const std::string& host) {
    const auto environment = [&](std::string_view name) {
      return name == "TACHO_REPLICA_INDEX" ? index : name == "HOSTNAME" ? host : std::string();
    };
    const std::vector<std::string> words{"-m",    "a",  "-t",      "t",    "-s-db",         "h:1",
                                         "-path", "/p", "-format", "TEXT", "--active-when", "TACHO_REPLICA_INDEX=0"};
    const auto options = parse_collect_options(words, CalledAs::collect, environment);
    EXPECT_TRUE(options);
    return options->passive;
  };
  EXPECT_FALSE(is_passive("0", "anything"));
  EXPECT_TRUE(is_passive("1", "job-worker-0")) << "what is said stands before what is guessed";
  EXPECT_FALSE(is_passive("", "job-worker-0"));
  for (const char* host :
       {"job-worker-1", "job-worker-10", "job-worker-", "job-worker-x0", "node-0", "worker-0", "job-worker-+0", ""})
    EXPECT_TRUE(is_passive("", host)) << host;
}

TEST(CollectOptions, FolderOfMarkers) {
  CollectOptions options;
  options.kind = find_collector_kind("File");
  for (const auto& [path, folder] : std::vector<std::pair<std::string, std::string>>{
           {"/a/b/c.log", "/a/b"}, {"/c.log", "/"}, {"c.log", "."}, {"/a//c.log", "/a"}}) {
    options.path = path;
    EXPECT_EQ(options.folder(), folder) << path;
  }
  options.kind = find_collector_kind("TensorFlowEvent");
  options.path = "/a/b/";
  EXPECT_EQ(options.folder(), "/a/b");
}

TEST(CollectConfig, KeysAndFaults) {
  const auto given =
      read_collect_config("t = \"a\"\nm = [\"x\", \"y\"]\n\"s-db\" = \"b:1\"\nrpc_timeout = 5\ntls = true\n", "f.toml");
  ASSERT_TRUE(given) << given.error().message();
  ASSERT_EQ(given->size(), 6u);
  const auto typo = read_collect_config("reprot = \"5s\"\n", "f.toml");
  ASSERT_FALSE(typo);
  EXPECT_NE(typo.error().message().find("report"), std::string::npos);
  EXPECT_NE(typo.error().message().find("f.toml:1"), std::string::npos);
  EXPECT_FALSE(read_collect_config("t = ", "f.toml"));
  EXPECT_FALSE(read_collect_config("[t]\na = 1\n", "f.toml"));
}

TEST(CollectConfig, FlagsReplaceTheFile) {
  const std::string path = ::testing::TempDir() + "collect.toml";
  std::ofstream(path) << "t = \"from-file\"\nm = [\"a\", \"b\"]\n\"s-db\" = \"x:1\"\n";
  const auto options = parse({"--config", path, "-m", "c"});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->trial, "from-file");
  EXPECT_EQ(options->metrics, (std::vector<std::string>{"c"}));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace tacho
