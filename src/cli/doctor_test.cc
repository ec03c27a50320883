#include "cli/doctor.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tacho {
namespace {

const Finding* find(const std::vector<Finding>& findings, std::string_view name) {
  const auto found = std::find_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.name == name; });
  return found == findings.end() ? nullptr : &*found;
}

TEST(Doctor, ThisMachineCanRun) {
  const auto findings = examine(Roots{}, Settings{});
  for (const char* name :
       {"/proc", "hidepid", "PID namespace", "cgroups", "job cgroup", "pidfd", "subreaper", "perf events", "PSS",
        "I/O wait of the job", "NVML", "run store", "open files", "tacho-deliver", "tacho-katib", "build"})
    EXPECT_NE(find(findings, name), nullptr) << name;
  for (const ProbeInfo& probe : all_probes()) EXPECT_NE(find(findings, "probe " + std::string(probe.name)), nullptr);
  EXPECT_EQ(find(findings, "/proc")->health, Health::ok);
  for (const Finding& finding : findings) {
    EXPECT_FALSE(finding.prevents_run) << finding.name;
    EXPECT_FALSE(finding.seen.empty()) << finding.name;
    EXPECT_EQ(finding.why.empty(), finding.health == Health::ok) << finding.name;
    EXPECT_EQ(finding.fix.empty(), finding.health == Health::ok) << finding.name;
    EXPECT_NE(finding.health, Health::broken) << finding.name;
  }
}

TEST(Doctor, WithoutProcNothingRuns) {
  Roots roots;
  roots.proc = roots.sys = "/nonexistent";
  const auto findings = examine(roots, Settings{});
  EXPECT_TRUE(find(findings, "/proc")->prevents_run);
  EXPECT_EQ(find(findings, "/proc")->health, Health::broken);
  EXPECT_FALSE(find(findings, "/proc")->fix.empty());
  EXPECT_EQ(find(findings, "cgroups")->health, Health::limited);
  EXPECT_NE(findings_text(findings, false).find("tacho run cannot work here."), std::string::npos);
}

TEST(Doctor, AStoreThatCannotBeWrittenIsSaid) {
  Settings settings;
  settings.store_dir = "/proc/tacho/runs";
  const auto findings = examine(Roots{}, settings);
  EXPECT_EQ(find(findings, "run store")->health, Health::broken);
  EXPECT_NE(find(findings, "run store")->fix.find("--store"), std::string::npos);
  EXPECT_FALSE(find(findings, "run store")->prevents_run);
  settings.store_named = true;
  EXPECT_TRUE(find(examine(Roots{}, settings), "run store")->prevents_run) << "tacho run would refuse it";
}

TEST(Doctor, WithoutAStoreThereIsNothingToTry) {
  const auto findings = examine(Roots{}, Settings{});  // as --no-store resolves
  EXPECT_EQ(find(findings, "run store")->health, Health::ok);
  EXPECT_NE(find(findings, "run store")->seen.find("--no-store"), std::string::npos);
}

TEST(Doctor, TextAndJson) {
  const std::vector<Finding> findings{{"a", Health::ok, "fine", "", ""},
                                      {"long name", Health::limited, "seen", "because", "do \"this\""},
                                      {"b", Health::not_applicable, "none", "", ""},
                                      {"c", Health::broken, "gone", "", ""}};
  EXPECT_EQ(findings_text(findings, false),
            "✓ a          fine\n! long name  seen\n             why: because\n             fix: do \"this\"\n– b       "
            "   none\n✗ c          gone\n"
            "\n1 ok, 1 limited, 1 not applicable, 1 broken. tacho run works here.\n");
  EXPECT_NE(findings_text(findings, true).find("\033[32m✓\033[0m a"), std::string::npos);
  const std::string json = findings_json(findings);
  EXPECT_NE(json.find("\"state\": \"limited\""), std::string::npos);
  EXPECT_NE(json.find("\"fix\": \"do \\\"this\\\"\""), std::string::npos);
}

}  // namespace
}  // namespace tacho
