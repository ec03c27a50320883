// tacho mark NAME | --end | --point NAME: what the job does now, for the run that it is part of. A script with marks
// works without tacho too: whatever keeps a mark from being written is one line on stderr, and the script goes on.
#include "base/log.h"
#include "base/text.h"
#include "cli/commands.h"
#include "os/clock.h"
#include "os/environment.h"
#include "sink/marks_file.h"

namespace tacho {

int mark_command(const Invocation& call) {
  const Started started = start(call, Words::anywhere);
  if (started.done) return *started.done;
  const bool end = is_set(started.line, "end"), point = is_set(started.line, "point");
  const std::vector<std::string>& words = started.line.words;
  constexpr const char* kUsage = "write tacho mark NAME, tacho mark --end, or tacho mark --point NAME";
  if (end && point) return refuse({Code::invalid, "--end and --point exclude each other", "", kUsage});
  if (end && !words.empty()) return refuse({Code::invalid, "--end takes no name", words[0], kUsage});
  if (!end && words.size() > 1) return refuse({Code::invalid, "mark takes one name", words[1], "quote it"});
  if (!end && (words.empty() || trim(harmless_text(words[0])).empty()))
    return refuse({Code::invalid, "mark needs a name", "", kUsage});

  const std::string folder = environment_or(kRunFolderVariable);
  if (folder.empty()) {
    log::warn("no mark was set: this is not part of a run; start it by tacho run, without --no-store");
    return 0;
  }
  const MarkEvent event = end ? MarkEvent::end : point ? MarkEvent::point : MarkEvent::phase;
  const Status set = append_mark(folder, event, end ? "" : words[0], system_clock().realtime_ns());
  if (!set) log::warn("no mark was set: " + set.error().message());
  return 0;
}

}  // namespace tacho
