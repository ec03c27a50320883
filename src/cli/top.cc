// tacho top [RUN|--pid N]: a live view of a run that is being recorded, of a process, or of the machine.
#include <unistd.h>

#include <algorithm>

#include "base/writer.h"
#include "cli/commands.h"
#include "cli/resolve.h"
#include "cli/terminal.h"
#include "engine/session.h"
#include "job/job.h"
#include "os/clock.h"
#include "os/environment.h"
#include "os/helper.h"
#include "os/line_file.h"
#include "report/csv_reader.h"
#include "report/input.h"
#include "sink/top.h"

namespace tacho {
namespace {

// {"timestamp":…,"system_processes":…}
std::string row_json(const CsvReader& reader, const Row& row) {
  const Schema schema = reader.schema();
  Writer out;
  JsonWriter json(out);
  json.object();
  for (size_t i = 0; i < schema.size(); ++i) json.key(schema[i].name).number(row.cells[i], schema[i].decimals);
  json.end_object();
  return std::string(out.view()) + "\n";
}

// Somebody else records it: its rows are read as they come, until it ends or a signal does.
Status follow(const Input& input, const Settings& settings, bool json, bool color) {
  const StoredRun& stored = input.stored;
  const std::string& rows_path = input.rows_path;
  CsvReader reader;
  if (const Status status = reader.open(rows_path); !status) return status;
  if (stored.run.outcome.started_realtime_ns > 0)
    reader.set_start(static_cast<double>(stored.run.outcome.started_realtime_ns) / 1e9);
  auto screen = TopScreen::open(color);
  if (!screen) return screen.error();
  LiveView view;
  view.begin(stored.run, reader.schema());
  Job nothing([](const Exit&) {}, [](pid_t) { return false; });  // for the signals
  Clock& clock = system_clock();
  for (bool lives = true; lives;) {
    lives = probe_lock(rows_path) == LockState::held;  // looked at first: what was written until then is read below
    Row row;
    bool fresh = view.empty();
    while (reader.next(row)) {
      view.add(row), fresh = true;
      if (json && print(row_json(reader, row)) != 0) return ok();
    }
    reader.go_on();
    if (fresh && !json)
      if (const Status status = screen->draw(view); !status) return status;
    if (!lives) break;
    clock.wait(nothing.poll_set(), clock.monotonic_ns() + settings.interval_ns);
    if (nothing.handle_events()) break;
  }
  return ok();
}

}  // namespace

int top_command(const Call& call) {
  const Started started = start(call, Words::anywhere);
  if (started.done) return *started.done;
  auto settings = resolve(started.line, kTop, real_surroundings());
  if (!settings) return refuse(settings.error());
  const auto& words = started.line.words;
  const auto is_pid = [](const Given& given) { return given.option->name == "pid"; };
  const bool by_pid = std::any_of(started.line.given.begin(), started.line.given.end(), is_pid);
  if (words.size() > 1 || (by_pid && !words.empty()))
    return refuse({Code::invalid, "top takes one run, or --pid PID, or nothing", words.back(), "write tacho top last"});
  const bool json = is_set(started.line, "json");
  const bool color = use_color(settings->color, STDOUT_FILENO);
  if (!words.empty()) {
    const auto input = read_input(settings->store_dir, words[0]);
    if (!input) return refuse(input.error());
    const Status status = follow(*input, *settings, json, color);
    return status ? 0 : refuse(status.error());
  }
  // Looking is not recording: no store, no summary, and nothing is sent.
  for (const char* secret : kTokenVariables) wipe_environment(secret);
  settings->store_dir.clear();
  settings->store_named = false;
  settings->summary = SummaryStyle::none;
  settings->progress_ns.reset();
  settings->outputs = {json ? "-" : color ? "top:color" : "top:"};
  if (json) settings->format = "json";
  const auto end = run_session(*settings);
  return end ? end->exit_status : refuse(end.error());
}

}  // namespace tacho
