// tacho compare A B…: runs or metrics files side by side. tacho advise RUN…: what size the job needs.
#include <unistd.h>

#include "cli/commands.h"
#include "cli/resolve.h"
#include "cli/terminal.h"
#include "report/advice.h"
#include "report/compare.h"
#include "report/input.h"

namespace tacho {
namespace {

Result<std::vector<Input>> read_inputs(const Settings& settings, const std::vector<std::string>& names) {
  std::vector<Input> inputs;
  for (const std::string& name : names) {
    auto input = read_input(settings.store_dir, name);
    if (!input) return input.error();
    inputs.push_back(std::move(*input));
  }
  return inputs;
}

}  // namespace

int compare_command(const Call& call) {
  const Started started = start(call, Words::anywhere);
  if (started.done) return *started.done;
  const auto settings = resolve(started.line, kCompare, real_surroundings());
  if (!settings) return refuse(settings.error());
  if (started.line.words.size() < 2)
    return refuse({Code::invalid, "compare takes two runs or more", "", "write tacho compare RUN RUN; tacho runs lists all"});
  const auto inputs = read_inputs(*settings, started.line.words);
  if (!inputs) return refuse(inputs.error());
  std::vector<StoredRun> runs;
  for (const Input& input : *inputs) runs.push_back(input.stored);
  const Comparison comparison = compare(runs);
  if (is_set(started.line, "json")) return print(comparison_json(comparison));
  auto cells = comparison_cells(comparison);
  Table table{std::move(cells.front()), {cells.begin() + 1, cells.end()}, Overlong::cut};
  return print(table.text(use_color(settings->color, STDOUT_FILENO), terminal_width(STDOUT_FILENO)));
}

int advise_command(const Call& call) {
  const Started started = start(call, Words::anywhere);
  if (started.done) return *started.done;
  const auto settings = resolve(started.line, kAdvise, real_surroundings());
  if (!settings) return refuse(settings.error());
  if (started.line.words.empty())
    return refuse({Code::invalid, "no run to advise on", "", "write tacho advise last, or name runs of the same job"});
  const auto inputs = read_inputs(*settings, started.line.words);
  if (!inputs) return refuse(inputs.error());
  const Advice advice = advise(*inputs);
  if (!advice.cpu && !advice.memory_mib)
    return refuse({Code::invalid, "there is no job to advise on", advice.runs.front(),
                   "its rows tell nothing of a job; record one: tacho run -- CMD"});
  if (is_set(started.line, "json")) return print(advice_json(advice));
  return print(advice_text(advice, use_color(settings->color, STDOUT_FILENO)));
}

}  // namespace tacho
