// tacho note RUN TEXT: what a person wants to remember of a run.
#include "cli/commands.h"
#include "cli/resolve.h"
#include "os/clock.h"
#include "report/store/input.h"
#include "report/store/notes.h"

namespace tacho {

int note_command(const Invocation& call) {
  const Started started = start(call, Words::anywhere);
  if (started.done) return *started.done;
  const auto settings = resolve(started.line, kNote, real_surroundings());
  if (!settings) return refuse(settings.error());
  const auto& words = started.line.words;
  if (words.size() < 2)
    return refuse({Code::invalid, "note takes a run and a text", words.empty() ? "" : words[0],
                   "write tacho note " + (words.empty() ? "last" : words[0]) + " 'new compiler'"});
  std::string text;
  for (size_t i = 1; i < words.size(); ++i) text += (i == 1 ? "" : " ") + words[i];
  if (is_metrics_file(words[0]))
    return refuse({Code::invalid, "a metrics file takes no notes", words[0], "name a run; tacho runs lists all"});
  const auto stored = find_run(settings->store_dir, words[0]);
  if (!stored) return refuse(stored.error());
  const Status status = append_note(*stored, text, system_clock().realtime_ns());
  return status ? 0 : refuse(status.error());
}

}  // namespace tacho
