// processes.csv as tacho top reads it while it grows, in two pieces that end anywhere, and the picture of what it says:
// whatever the file holds, no control byte reaches the terminal and no line is wider than the window.
#include "report/live/live_processes.h"

#include "base/text_width.h"
#include "report/live/live_picture.h"
#include "report/live/live_text.h"
#include "target.h"

void fuzz_one(std::string_view text) {
  tacho::LiveProcesses processes("");
  const size_t half = text.empty() ? 0 : static_cast<unsigned char>(text[0]) % text.size();
  processes.take(text.substr(0, half));
  processes.take(text.substr(half));
  tacho::LiveState state;
  state.of_record = true;
  state.processes = processes.list(true);
  require(tacho::shown_processes(state.processes, {}).size() == state.processes.size());
  const tacho::Picture picture = tacho::live_picture(state, {}, {.columns = 60, .lines = 40});
  require(picture.lines.size() <= 40);
  for (const std::string& line : picture.lines) {
    require(tacho::text_width(line) <= 60);
    for (const char c : line) require(static_cast<unsigned char>(c) >= 0x20);
  }
  tacho::LiveChoice choice;
  tacho::apply_keys(text, half, choice);
}
