// tacho why RUN: what limited it, with its numbers.
#include <unistd.h>

#include "cli/commands.h"
#include "cli/resolve.h"
#include "engine/settings.h"
#include "report/verdict/verdict.h"

namespace tacho {

int why_command(const Invocation& call) {
  const Started started = start(call, Words::anywhere);
  if (started.done) return *started.done;
  if (started.line.words.size() != 1)
    return refuse({Code::invalid, "why takes one run", "", "write tacho why last; tacho runs lists all"});
  const auto settings = resolve(started.line, kWhy, real_surroundings());
  if (!settings) return refuse(settings.error());
  const auto input = read_input(settings->store_dir, started.line.words[0]);
  if (!input) return refuse(input.error());
  const auto verdict = verdict_of(*input);
  if (!verdict) return refuse(verdict.error());
  if (is_set(started.line, "json")) return print(verdict_json(*verdict));
  return print_folded(verdict_text(*verdict, use_color(settings->color, STDOUT_FILENO)));
}

}  // namespace tacho
