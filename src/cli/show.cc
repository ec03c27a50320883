// tacho show RUN: one run's summary from the store.
#include <unistd.h>

#include "cli/commands.h"
#include "cli/resolve.h"
#include "engine/settings.h"
#include "report/store/input.h"
#include "report/store/phase_text.h"
#include "report/summary_text.h"
#include "report/verdict/verdict.h"

namespace tacho {

namespace {

// The folder; of a group those of its runs; the file itself where it was named.
std::string paths_of(const Input& input) {
  std::string paths;
  for (const StoredRun& member : input.members) paths += member.folder + "\n";
  if (!paths.empty()) return paths;
  return (input.stored.folder.empty() ? input.rows_path : input.stored.folder) + "\n";
}

}  // namespace

int show_command(const Invocation& call) {
  const Started started = start(call, Words::anywhere);
  if (started.done) return *started.done;
  if (started.line.words.size() != 1)
    return refuse({Code::invalid, "show takes one run", "", "write tacho show last; tacho runs lists all"});
  const auto settings = resolve(started.line, kShow, real_surroundings());
  if (!settings) return refuse(settings.error());
  const auto input = read_input(settings->store_dir, started.line.words[0]);
  if (!input) return refuse(input.error());
  const StoredRun& stored = input->stored;
  if (is_set(started.line, "path")) return print(paths_of(*input));
  if (is_set(started.line, "json")) return print(stored.json + (stored.json.ends_with('\n') ? "" : "\n"));
  const auto verdict = verdict_of(*input);
  const std::string summary = summary_full(stored, use_color(settings->color, STDOUT_FILENO),
                                           verdict ? verdict_line(verdict->judgement) : std::string());
  const std::string phases = phase_table(stored.run, terminal_width(STDOUT_FILENO));
  return print_folded(summary + (phases.empty() ? "\n" : "\n\n") + phases);
}

}  // namespace tacho
