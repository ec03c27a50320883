// tacho doctor.
#include "cli/doctor.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text_width.h"
#include "base/writer.h"
#include "cli/commands.h"
#include "cli/concat.h"
#include "cli/resolve.h"
#include "engine/settings.h"
#include "os/text_table.h"

namespace tacho {
namespace {

bool is_broken(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.health == Health::broken; });
}

bool run_is_prevented(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(), [](const Finding& finding) { return finding.prevents_run; });
}

}  // namespace

std::string_view health_word(Health health) {
  constexpr std::array<std::string_view, 4> kWords{"ok", "limited", "not applicable", "broken"};
  return kWords[static_cast<size_t>(health)];
}

std::vector<Finding> examine(const Roots& roots, const Settings& settings) {
  std::vector<Finding> findings;
  examine_kernel(roots, findings);
  examine_files(roots, settings, findings);
  examine_probes(roots, findings);
  return findings;
}

std::string findings_text(const std::vector<Finding>& findings, bool color) {
  size_t width = 0;
  for (const Finding& finding : findings) width = std::max(width, text_width(finding.name));
  std::string out;
  for (const Finding& finding : findings) {
    constexpr std::array<std::pair<std::string_view, Style>, 4> kSigns{
        {{"✓", Style::green}, {"!", Style::yellow}, {"–", Style::dim}, {"✗", Style::red}}};
    const auto& [sign, style] = kSigns[static_cast<size_t>(finding.health)];
    out += styled(sign, style, color);
    out += " " + finding.name + std::string(width - text_width(finding.name) + 2, ' ') + finding.seen + "\n";
    const std::string indent(width + 4, ' ');
    if (!finding.why.empty()) out += indent + "why: " + finding.why + "\n";
    if (!finding.fix.empty()) out += indent + "fix: " + finding.fix + "\n";
  }
  const auto count = [&](Health health) {
    const auto alike = [&](const Finding& finding) { return finding.health == health; };
    return std::to_string(std::count_if(findings.begin(), findings.end(), alike));
  };
  out += concat({"\n", count(Health::ok), " ok, ", count(Health::limited), " limited, "});
  out += concat({count(Health::not_applicable), " not applicable, ", count(Health::broken), " broken. "});
  return out + (run_is_prevented(findings) ? "tacho run cannot work here.\n" : "tacho run works here.\n");
}

std::string findings_json(const std::vector<Finding>& findings) {
  Writer out;
  JsonWriter json(out, true);
  json.array();
  for (const Finding& finding : findings) {
    json.object().key("name").value(finding.name).key("state").value(health_word(finding.health));
    json.key("seen").value(finding.seen).key("why").value(finding.why).key("fix").value(finding.fix);
    json.key("prevents_run").value(finding.prevents_run).end_object();
  }
  json.end_array();
  return std::string(out.view()) + "\n";
}

int doctor_command(const Invocation& call) {
  const Started started = start(call, Words::anywhere);
  if (started.done) return *started.done;
  if (!started.line.words.empty())
    return refuse({Code::invalid, "doctor takes no argument", started.line.words[0], "write tacho doctor"});
  const auto settings = resolve(started.line, kDoctor, real_surroundings());
  if (!settings) return refuse(settings.error());
  if (is_set(started.line, "cost")) {
    const std::vector<ProbeCost> costs = measure_costs(Roots::from_environment());
    return print(is_set(started.line, "json") ? costs_json(costs) : costs_text(costs));
  }
  const std::vector<Finding> findings = examine(Roots::from_environment(), *settings);
  const bool color = use_color(settings->color, STDOUT_FILENO);
  const int printed =
      is_set(started.line, "json") ? print(findings_json(findings)) : print_folded(findings_text(findings, color));
  return printed != 0 || is_broken(findings) || run_is_prevented(findings) ? 1 : 0;
}

}  // namespace tacho
