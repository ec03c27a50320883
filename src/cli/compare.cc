// tacho compare A B…: runs or metrics files side by side.
#include <unistd.h>

#include "cli/commands.h"
#include "cli/resolve.h"
#include "cli/terminal.h"
#include "report/compare.h"
#include "report/input.h"

namespace tacho {
int compare_command(const Call& call) {
  const Started started = start(call, Words::anywhere);
  if (started.done) return *started.done;
  const auto settings = resolve(started.line, kCompare, real_surroundings());
  if (!settings) return refuse(settings.error());
  if (started.line.words.size() < 2)
    return refuse(
        {Code::invalid, "compare takes two runs or more", "", "write tacho compare RUN RUN; tacho runs lists all"});
  const auto inputs = read_inputs(settings->store_dir, started.line.words);
  if (!inputs) return refuse(inputs.error());
  std::vector<StoredRun> runs;
  for (const Input& input : *inputs) runs.push_back(input.stored);
  Comparison comparison = compare(runs);
  for (const Input& input : *inputs) {
    const auto verdict = verdict_of(input);
    comparison.verdicts.push_back(verdict ? verdict->judgement : Judgement{});
  }
  if (is_set(started.line, "json")) return print(comparison_json(comparison));
  auto cells = comparison_cells(comparison);
  Table table{std::move(cells.front()), {cells.begin() + 1, cells.end()}, Overlong::cut};
  return print(table.text(use_color(settings->color, STDOUT_FILENO), terminal_width(STDOUT_FILENO)) +
               verdict_changes(comparison));
}

}  // namespace tacho
