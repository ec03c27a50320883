// tacho show RUN: one run's summary from the store.
#include <unistd.h>

#include "cli/commands.h"
#include "cli/resolve.h"
#include "cli/terminal.h"
#include "report/input.h"
#include "report/phase_text.h"
#include "report/summary_text.h"

namespace tacho {

namespace {

constexpr size_t kTableWidth = 100;

}  // namespace

int show_command(const Call& call) {
  const Started started = start(call, Words::anywhere);
  if (started.done) return *started.done;
  if (started.line.words.size() != 1)
    return refuse({Code::invalid, "show takes one run", "", "write tacho show last; tacho runs lists all"});
  const auto settings = resolve(started.line, kShow, real_surroundings());
  if (!settings) return refuse(settings.error());
  const auto input = read_input(settings->store_dir, started.line.words[0]);
  if (!input) return refuse(input.error());
  const StoredRun& stored = input->stored;
  if (is_set(started.line, "path")) return print((stored.folder.empty() ? input->rows_path : stored.folder) + "\n");
  if (is_set(started.line, "json")) return print(stored.json + (stored.json.ends_with('\n') ? "" : "\n"));
  return print_text(summary_full(stored, use_color(settings->color, STDOUT_FILENO)) + "\n" +
                    phase_table(stored.run, kTableWidth));
}

}  // namespace tacho
