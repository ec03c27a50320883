// What the webhook reads of a Trial, kind by kind.
#include "kube/webhook/trial_facts.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kube/webhook/sidecar.h"

namespace tacho {
namespace {

TrialFacts facts_with(const Json& collector) {
  Json trial = {{"metadata", {{"name", "t"}, {"namespace", "n"}}}};
  trial["spec"]["objective"] = {{"type", "maximize"}, {"objectiveMetricName", "accuracy"}};
  trial["spec"]["metricsCollector"] = collector;
  Result<TrialFacts> facts = read_trial(trial);
  EXPECT_TRUE(facts);
  return facts ? *facts : TrialFacts{};
}

TrialFacts facts_of_kind(const std::string& kind, const Json& path = Json::object()) {
  return facts_with({{"collector", {{"kind", kind}}}, {"source", {{"fileSystemPath", path}}}});
}

struct Expected {
  const char *kind, *path, *folder, *format, *container;
};

TEST(TrialFacts, DefaultsOfEachKind) {
  for (const Expected& one :
       {Expected{"StdOut", "/var/log/katib/metrics.log", "/var/log/katib", "TEXT", "metrics-logger-and-collector"},
        {"File", "/var/log/katib/metrics.log", "/var/log/katib", "TEXT", "metrics-logger-and-collector"},
        {"TensorFlowEvent", "/var/log/katib/tfevent/", "/var/log/katib/tfevent", "", "metrics-collector"},
        {"PrometheusMetric", "/var/log/katib", "/var/log/katib", "", "metrics-collector"},
        {"Custom", "", "", "", ""},
        {"Push", "", "", "", ""}}) {
    const TrialFacts facts = facts_of_kind(one.kind);
    EXPECT_EQ(facts.kind->name, one.kind);
    EXPECT_EQ(facts.path, one.path) << one.kind;
    EXPECT_EQ(shared_folder(facts), one.folder) << one.kind;
    EXPECT_EQ(facts.format, one.format) << one.kind;
    EXPECT_EQ(sidecar_name(facts), one.container) << one.kind;
  }
  EXPECT_EQ(facts_with(Json::object()).kind->name, "StdOut") << "a Trial that names none";
  EXPECT_EQ(facts_with(nullptr).kind->name, "StdOut");
}

TEST(TrialFacts, PathsThatATrialNames) {
  const Json given = {{"path", "/data/x/log.json"}, {"kind", "Directory"}, {"format", "JSON"}};
  for (const Expected& one : {Expected{"StdOut", "/var/log/katib/metrics.log", "/var/log/katib", "TEXT", ""},
                              {"File", "/data/x/log.json", "/data/x", "JSON", ""},
                              {"TensorFlowEvent", "/data/x/log.json", "/data/x/log.json", "", ""},
                              {"PrometheusMetric", "/var/log/katib", "/var/log/katib", "", ""},
                              {"Custom", "/data/x/log.json", "/data/x/log.json", "", ""}}) {
    const TrialFacts facts = facts_of_kind(one.kind, given);
    EXPECT_EQ(facts.path, one.path) << one.kind;
    EXPECT_EQ(shared_folder(facts), one.folder) << one.kind;
    EXPECT_EQ(facts.format, one.format) << one.kind;
  }
  EXPECT_EQ(shared_folder(facts_of_kind("Custom", {{"path", "/data/x"}, {"kind", "diretory"}})), "/data/x");
  EXPECT_EQ(shared_folder(facts_of_kind("Custom", {{"path", "/data/x"}, {"kind", "File"}})), "/data");
}

TEST(TrialFacts, EveryKindInEverySpelling) {
  for (const CollectorKind& kind : collector_kinds()) {
    for (const std::string_view spelling : kind.spellings) {
      if (spelling.empty()) continue;
      EXPECT_EQ(facts_of_kind(std::string(spelling)).kind, &kind) << spelling;
      EXPECT_EQ(facts_of_kind(std::string(spelling)).unknown_kind, "") << spelling;
    }
  }
  EXPECT_EQ(facts_of_kind("Odd").unknown_kind, "Odd");
}

}  // namespace
}  // namespace tacho
