// The verdict of a stored run or a metrics file: its rows and its phases.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "report/verdict.h"

namespace tacho {
namespace {

struct JudgedPhase {
  std::string name;
  double started_s = 0, ended_s = 0, seconds = 0;
  ClassTimes times;
};

constexpr size_t kMostJudgedPhases = 10'000;

double phase_number(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number() ? found->get<double>() : kAbsent;
}

// As run.json lists them, in the order of their starts.
std::vector<JudgedPhase> judged_phases(const std::string& run_json) {
  std::vector<JudgedPhase> phases;
  const auto json = nlohmann::json::parse(run_json, nullptr, false);
  if (!json.is_object() || !json.contains("phases") || !json["phases"].is_array()) return phases;
  for (const auto& entry : json["phases"]) {
    if (phases.size() >= kMostJudgedPhases) break;
    if (!entry.is_object() || !entry.contains("name") || !entry["name"].is_string()) continue;
    JudgedPhase phase{entry["name"].get<std::string>(),
                      phase_number(entry, "started"),
                      phase_number(entry, "ended"),
                      phase_number(entry, "seconds"),
                      {}};
    if (is_absent(phase.started_s)) continue;
    if (is_absent(phase.ended_s)) phase.ended_s = INFINITY;  // it goes on
    phases.push_back(std::move(phase));
  }
  std::stable_sort(phases.begin(), phases.end(),
                   [](const JudgedPhase& a, const JudgedPhase& b) { return a.started_s < b.started_s; });
  return phases;
}

}  // namespace

Result<Verdict> verdict_of(const Input& input) {
  const Run& run = input.stored.run;
  CsvReader reader;
  if (const Status status = reader.open(input.rows_path); !status) return status.error();
  const JudgedRun judged = JudgedRun::of(run);
  VerdictFold fold(reader.schema());
  std::vector<JudgedPhase> phases = judged_phases(input.stored.json);
  each_row(reader, run, [&](const Row& row) {
    const auto found = fold.add(row, judged);
    if (!found) return;
    const double end_s = row.cells[0];
    // Phases do not nest: the last that began before.
    const auto after = std::lower_bound(phases.begin(), phases.end(), end_s,
                                        [](const JudgedPhase& phase, double at) { return phase.started_s < at; });
    if (after != phases.begin() && end_s <= std::prev(after)->ended_s)
      std::prev(after)->times.add(*found, row.interval_ns);
  });
  Verdict verdict = fold.verdict(run);
  verdict.shown_id = input.stored.shown_id();
  for (JudgedPhase& phase : phases) {
    if (is_absent(phase.seconds)) phase.seconds = static_cast<double>(phase.times.total_ns()) / 1e9;
    verdict.phases.push_back({std::move(phase.name), phase.seconds, phase.times.judge(!verdict.missing.empty())});
  }
  return verdict;
}

}  // namespace tacho
