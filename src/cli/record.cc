// run, attach, watch, and the whole program called as resource-tracker: all end in one session.
#include <algorithm>

#include "base/log.h"
#include "cli/coach.h"
#include "cli/commands.h"
#include "cli/resolve.h"
#include "cli/variables.h"
#include "engine/session.h"
#include "os/signals.h"
#include "probe/probe.h"
#include "sink/sink.h"

namespace tacho {
namespace {

Error no_command(const Call& call) {
  return {Code::invalid, "no command to run", "", "write tacho " + std::string(call.command.name) + " -- CMD ARGS..."};
}

// What the settings lack or have too much of for this subcommand.
Status check(const Call& call, const Settings& settings, const ParsedLine& line) {
  const Subcommand subcommand = call.command.options;
  if (subcommand == kRun && settings.mode == Mode::watch) return no_command(call);
  if (subcommand == kRun && line.dashes && line.words.empty()) return no_command(call);
  if (subcommand == kAttach && !line.words.empty()) return coach_attach(line.words[0]);
  const auto pid = value_of(line, "pid");
  if (subcommand == kRun && pid && !line.words.empty())
    return Error{Code::invalid, "--pid and a command exclude each other", *pid,
                 "write tacho attach --pid " + *pid + ", or tacho run -- " + shell_words(line.words)};
  if (subcommand == kWatch && !line.words.empty())
    return Error{Code::invalid, std::string(call.command.name) + " takes no command", line.words[0],
                 "to record a command: tacho run -- " + line.words[0]};
  if (subcommand == kAttach && settings.mode != Mode::attach)
    return Error{Code::invalid, "nothing to attach to", "", "give --pid PID or --cgroup PATH"};
  return ok();
}

struct HeldMessages {
  explicit HeldMessages(bool hold) {
    if (hold) log::hold();
  }
  ~HeldMessages() { log::release(); }
  HeldMessages(const HeldMessages&) = delete;
  HeldMessages& operator=(const HeldMessages&) = delete;
};

// What somebody asked for and will not get. The older tool is silent about it.
void say_what_is_ignored(const Settings& settings, Subcommand subcommand) {
  if (subcommand == kTracker) return;
  const Roots roots = Roots::from_environment();
  for (const std::string& name : settings.probes_on)
    if (const ProbeInfo* probe = find_probe(name); probe != nullptr)
      if (const Status status = probe->check(roots); !status)
        log::warn("the probe " + name + " cannot work here, its columns stay empty: " + status.error().message() +
                  "; tacho doctor tells more");
  for (const std::string& text : unknown_variables()) log::warn(text);
}

int record(const Call& call) {
  const Started started = start(call, Words::command);
  if (started.done) return *started.done;
  // As resource-tracker rows go to stderr, and no line of text may come between them, not even of the configuration.
  const HeldMessages held(call.command.options == kTracker);
  const auto settings = resolve(started.line, call.command.options, real_surroundings());
  if (!settings) return refuse(settings.error());
  if (const Status status = check(call, *settings, started.line); !status) return refuse(status.error());
  if (std::find(settings->outputs.begin(), settings->outputs.end(), kStderr) == settings->outputs.end()) log::release();
  if (settings->verbose) log::set_level(log::Level::verbose);
  else if (settings->quiet) log::set_level(log::Level::quiet);
  say_what_is_ignored(*settings, call.command.options);
  const auto end = run_session(*settings);
  if (!end) return refuse(end.error());
  if (end->not_started && call.command.options == kRun)
    if (const std::string advice = coach_command(settings->command); !advice.empty()) log::error(advice);
  if (end->signal != 0) end_by(end->signal);  // comes back as PID 1 and where the signal ends nothing
  return end->exit_status;
}

}  // namespace

int run_command(const Call& call) { return record(call); }
int attach_command(const Call& call) { return record(call); }
int watch_command(const Call& call) { return record(call); }
int tracker_program(const Call& call) { return record(call); }

}  // namespace tacho
