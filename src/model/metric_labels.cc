#include "model/metric_labels.h"

#include <algorithm>
#include <array>

namespace tacho {
namespace {

constexpr size_t kLongestLabelValue = 128;
constexpr std::array<std::string_view, 17> kOwnLabels{
    "job",          "instance", "job_name",     "run_id",     "external_run_id",
    "orchestrator", "executor", "project_name", "stage_name", "task_name",
    "team",         "env",      "mode",         "direction",  "tacho_version",
    "index",        "task"};

}  // namespace

Result<MetricLabel> parse_metric_label(std::string_view text) {
  const size_t equals = text.find('=');
  const std::string name(text.substr(0, equals));
  const std::string value(equals == text.npos ? std::string_view{} : text.substr(equals + 1));
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const bool word = !name.empty() && is_letter(name.front()) && std::all_of(name.begin(), name.end(), [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9');
  });
  const auto bad = [&](const char* hint) { return Error{Code::invalid, "not a label", std::string(text), hint}; };
  if (equals == text.npos || !word || name.starts_with("__"))
    return bad("write NAME=VALUE, NAME of letters, digits and _");
  if (std::find(kOwnLabels.begin(), kOwnLabels.end(), name) != kOwnLabels.end() && text != "run_id={run_id}")
    return bad("that name is one of tacho's own labels; choose another");
  if (value.size() > kLongestLabelValue) return bad("a value has at most 128 bytes");
  return MetricLabel(name, value);
}

}  // namespace tacho
