#include "export/figures.h"

#include <cmath>

#include "base/path.h"
#include "base/text.h"
#include "base/units.h"

namespace tacho {
namespace {

constexpr size_t kLongestLabel = 64;

std::optional<double> four_decimals(const std::optional<double>& value) {
  if (!value || !std::isfinite(*value)) return std::nullopt;
  return std::round(*value * 1e4) / 1e4;
}

}  // namespace

int64_t half_up(double value) {
  constexpr double kMost = 9e18;  // a damaged run.json may hold anything
  return static_cast<int64_t>(std::floor(std::fmax(-kMost, std::fmin(value, kMost)) + 0.5));
}

std::string one_line(std::string_view text) {
  std::string line(text);
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return line;
}

JobFigures::JobFigures(const Run& run)
    : run(run),
      duration_ms((run.outcome.duration_ns + kNsPerMs / 2) / kNsPerMs),
      cpu_user_s(four_decimals(run.totals.cpu_user_s)),
      cpu_system_s(four_decimals(run.totals.cpu_system_s)) {}

std::optional<double> JobFigures::cores() const {
  const auto seconds = cpu_s();
  if (!seconds || duration_ms <= 0) return std::nullopt;
  return *seconds / (ms_as_seconds(duration_ms));
}

std::string JobFigures::job_label() const {
  std::string name = is_hidden(run, "job_name") ? "" : run.metadata.job_name;
  if (name.empty() && !run.command.empty() && !is_hidden(run, "command")) name = last_part(run.command.front());
  if (name.empty()) name = "tacho";
  name = valid_utf8(name);  // first, because it makes bytes into characters of three
  return std::string(start_of(name, kLongestLabel));
}

}  // namespace tacho
