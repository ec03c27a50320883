// Early-stopping rules: "name;value;comparison;startStep", as -stop-rule gives them. All must be met, each once (it
// latches); the objective is compared by its best value so far, other metrics by the present one. A rule is tested at
// its startStep-th observation and at every later one; 0 means at every one. Pure; not thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "katib/model/row.h"

namespace tacho {

enum class ObjectiveType { none, minimize, maximize };  // -o-type; with none the first value counts as the best

class StopRules {
 public:
  StopRules() = default;
  // `metrics` is -m, the objective first. An error (exit 2) names the rule and what is wrong with it.
  static Result<StopRules> parse(const std::vector<std::string>& rules, const std::vector<std::string>& metrics,
                                 ObjectiveType type);

  // One more observation. True when this row completes the rules.
  bool observe(const MetricRow& row);
  bool met() const { return !rules_.empty() && left_ == 0; }
  bool empty() const { return rules_.empty(); }
  // Forgets what was observed: a new attempt begins.
  void reset();
  // "loss less 0.3 from step 4: met by 0.28", one line a rule, for the log.
  std::string describe() const;

  // Counters, latches and the best value as JSON for the state file. restore() refuses the state of other rules.
  std::string state() const;
  Status restore(std::string_view json);

 private:
  enum class Comparison { equal, less, greater };
  struct Rule {
    std::string text, name;
    double value = 0;
    Comparison comparison = Comparison::equal;
    int64_t start_step = 0;
    int64_t seen = 0;
    std::optional<double> met_by;
  };
  static Result<Rule> parse_rule(const std::string& text, const std::vector<std::string>& metrics);

  std::vector<Rule> rules_;
  size_t left_ = 0;
  std::string objective_;
  ObjectiveType type_ = ObjectiveType::none;
  std::optional<double> best_;
};

}  // namespace tacho
