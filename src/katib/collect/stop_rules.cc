#include "katib/collect/stop_rules.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/text.h"
#include "katib/read/value_rule.h"

namespace tacho {
namespace {

// A finite decimal number, also with a '+' in front.
std::optional<double> parse_number(std::string_view text) {
  text = trim_unicode(text);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  return parse_double(text);
}

Error rule_error(const std::string& text, const std::string& fault) {
  return {Code::invalid, "stop rule '" + valid_utf8(text) + "': " + fault, "-stop-rule",
          "a rule is name;value;comparison;startStep, for example loss;0.5;less;4"};
}

}  // namespace

Result<StopRules::Rule> StopRules::parse_rule(const std::string& text, const std::vector<std::string>& metrics) {
  const auto parts = split(text, ';');
  const auto requested = [&](std::string_view name) {
    return std::find(metrics.begin(), metrics.end(), name) != metrics.end();
  };
  if (parts.size() < 4) return rule_error(text, "it has " + std::to_string(parts.size()) + " parts, four are needed");
  Rule rule;
  rule.text = text;
  // A name may hold a ';' itself, when it is one of the requested ones.
  const std::string_view last = parts[parts.size() - 1], comparison = parts[parts.size() - 2],
                         value = parts[parts.size() - 3];
  rule.name = text.substr(0, static_cast<size_t>(value.data() - text.data()) - 1);
  if (parts.size() > 4 && !requested(rule.name))
    return rule_error(text, "it has " + std::to_string(parts.size()) + " parts, four are needed");
  if (rule.name.empty()) return rule_error(text, "it names no metric");
  const auto number = parse_number(value);
  if (!number) return rule_error(text, "the value '" + std::string(value) + "' is not a number");
  rule.value = *number;
  if (comparison == "equal") rule.comparison = Comparison::equal;
  else if (comparison == "less") rule.comparison = Comparison::less;
  else if (comparison == "greater") rule.comparison = Comparison::greater;
  else return rule_error(text, "the comparison '" + std::string(comparison) + "' is none of equal, less, greater");
  const auto step = parse_int<int64_t>(last.size() > 1 && last[0] == '+' && last[1] != '-' ? last.substr(1) : last);
  if (!step) return rule_error(text, "the start step '" + std::string(last) + "' is not an integer");
  rule.start_step = *step;
  if (!requested(rule.name))
    log::warn("stop rule '" + text + "' can never be met: " + rule.name + " is none of the metrics (-m)");
  if (rule.comparison == Comparison::equal)
    log::warn("stop rule '" + text +
              "' compares for exact equality, which a computed number seldom meets; less or greater is safer");
  return rule;
}

Result<StopRules> StopRules::parse(const std::vector<std::string>& rules, const std::vector<std::string>& metrics,
                                   ObjectiveType type) {
  StopRules result;
  for (const std::string& text : rules) {
    auto rule = parse_rule(text, metrics);
    if (!rule) return rule.error();
    result.rules_.push_back(std::move(*rule));
  }
  result.left_ = result.rules_.size();
  if (!metrics.empty()) result.objective_ = metrics[0];
  result.type_ = type;
  return result;
}

bool StopRules::observe(const MetricRow& row) {
  const auto concerns = [&](const Rule& rule) { return rule.name == row.name; };
  if (left_ == 0 || std::none_of(rules_.begin(), rules_.end(), concerns)) return false;
  auto value = parse_number(row.value);
  if (!value) {
    log::warn("metric " + row.name + " had a value that is not a number; the stop rules pass over such values");
    return false;
  }
  if (row.name == objective_) {
    const bool better = !best_ || (type_ == ObjectiveType::maximize && *value > *best_) ||
                        (type_ == ObjectiveType::minimize && *value < *best_);
    if (better) best_ = value;
    value = best_;
  }
  for (Rule& rule : rules_) {
    if (!concerns(rule)) continue;
    ++rule.seen;
    if (rule.met_by || rule.seen < rule.start_step) continue;
    const bool met = rule.comparison == Comparison::equal  ? *value == rule.value
                     : rule.comparison == Comparison::less ? *value < rule.value
                                                           : *value > rule.value;
    if (!met) continue;
    rule.met_by = value;
    --left_;
  }
  return left_ == 0;
}

void StopRules::reset() {
  best_.reset();
  left_ = rules_.size();
  for (Rule& rule : rules_) {
    rule.seen = 0;
    rule.met_by.reset();
  }
}

std::string StopRules::describe() const {
  std::string text;
  for (const Rule& rule : rules_) {
    const auto number = [](double value) { return nlohmann::json(value).dump(); };
    const char* comparison = rule.comparison == Comparison::equal  ? " equal "
                             : rule.comparison == Comparison::less ? " less "
                                                                   : " greater ";
    text += rule.name + comparison + number(rule.value);
    if (rule.start_step > 0) text += " from step " + std::to_string(rule.start_step);
    text += rule.met_by ? ": met by " + number(*rule.met_by)
                        : ": not met in " + std::to_string(rule.seen) + " observations";
    text += '\n';
  }
  if (!text.empty()) text.pop_back();
  return text;
}

std::string StopRules::state() const {
  nlohmann::json json{{"rules", nlohmann::json::array()}};
  for (const Rule& rule : rules_) {
    nlohmann::json entry{{"rule", valid_utf8(rule.text)}, {"seen", rule.seen}};
    if (rule.met_by) entry["met_by"] = *rule.met_by;
    json["rules"].push_back(std::move(entry));
  }
  if (best_) json["best"] = *best_;
  return json.dump();
}

Status StopRules::restore(std::string_view text) {
  const Error unfit{Code::invalid, "the state of the stop rules does not fit the rules given", "", "they begin anew"};
  StopRules copy = *this;
  copy.reset();
  try {
    const auto json = nlohmann::json::parse(text);
    const auto& entries = json.at("rules");
    if (entries.size() != copy.rules_.size()) return unfit;
    for (size_t i = 0; i < entries.size(); ++i) {
      Rule& rule = copy.rules_[i];
      if (entries[i].at("rule").get<std::string>() != valid_utf8(rule.text)) return unfit;
      rule.seen = entries[i].at("seen").get<int64_t>();
      if (!entries[i].contains("met_by")) continue;
      rule.met_by = entries[i]["met_by"].get<double>();
      --copy.left_;
    }
    if (json.contains("best")) copy.best_ = json["best"].get<double>();
  } catch (const nlohmann::json::exception&) { return unfit; }
  *this = std::move(copy);
  return ok();
}

}  // namespace tacho
