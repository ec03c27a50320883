// run, attach, watch, and the whole program called as resource-tracker: all end in one session, attach --detach in a
// process of its own.
#include <algorithm>
#include <span>
#include <utility>

#include "base/log.h"
#include "cli/coach.h"
#include "cli/commands.h"
#include "cli/fail_open.h"
#include "cli/listener.h"
#include "cli/resolve.h"
#include "cli/variables.h"
#include "engine/session.h"
#include "os/detach.h"
#include "os/file.h"
#include "os/signals.h"
#include "probe/kit/probe.h"
#include "sink/sink.h"

namespace tacho {
namespace {

Error no_command(const Invocation& call) {
  return {Code::invalid, "no command to run", "", "write tacho " + std::string(call.command.name) + " -- CMD ARGS..."};
}

// What the settings lack or have too much of for this subcommand.
Status check(const Invocation& call, const Settings& settings, const ParsedLine& line) {
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
  if (settings.no_children && settings.attach_pid <= 0)
    return Error{Code::invalid, "--no-children needs a process", "", "give --pid PID"};
  const auto is_stdout = [](const std::string& output) { return output == "-" || output.ends_with(":-"); };
  if (settings.detach && std::any_of(settings.outputs.begin(), settings.outputs.end(), is_stdout))
    return Error{Code::invalid, "nothing can be printed in the background", "-", "name a file: -o rows.csv"};
  return ok();
}

// In the process that goes on and in the one that ends: the exit status of each.
int record_detached(const Settings& settings, bool says_line) {
  auto detached = detach();
  if (!detached) return refuse(detached.error());
  if (!detached->goes_on) {
    const std::string line = wait_for_detached(*detached);
    if (!line.ends_with('\n')) return kRefused;
    return says_line ? print(line) : 0;
  }
  const auto end = run_session(settings, system_clock(), [&](const Run& run, const std::string& folder) {
    return settle_detached(*detached, begun_line(run, folder));
  });
  return end ? end->exit_status : refuse(end.error());
}

class HeldMessages {
 public:
  explicit HeldMessages(bool hold) : holds_(hold) {
    if (hold) log::hold();
  }
  ~HeldMessages() { release(); }
  HeldMessages(const HeldMessages&) = delete;
  HeldMessages& operator=(const HeldMessages&) = delete;
  void release() {
    if (std::exchange(holds_, false)) log::release();
  }

 private:
  bool holds_;
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

struct Attempt {
  int status;
  bool over = true;        // false: refused before there was a job
  bool fail_open = false;  // as far as the settings tell
};

Attempt record_attempt(const Invocation& call, const AsStarted& as_started, Listener& listener) {
  const Started started = start(call, Words::command);
  if (started.done) return {*started.done, *started.done != kRefused};
  const bool is_run = call.command.options == kRun && !started.line.words.empty();
  // Before the configuration is read: what is inside of a run needs none.
  const auto pass = [&] {
    listener.not_recorded();
    return Attempt{become_command(started.line.words, as_started)};
  };
  if (is_run && wants_to_pass(started.line) && is_inside_passing_run()) return pass();
  // As resource-tracker rows go to stderr, and no line of text may come between them, not even of the configuration.
  HeldMessages held(call.command.options == kTracker);
  const auto settings = resolve(started.line, call.command.options, real_surroundings());
  if (!settings) return {refuse(settings.error()), false};
  const auto refused = [&](const Error& error) { return Attempt{refuse(error), false, settings->fail_open}; };
  if (const Status status = check(call, *settings, started.line); !status) return refused(status.error());
  if (is_run && settings->nested_pass && is_inside_passing_run()) return pass();
  if (std::find(settings->outputs.begin(), settings->outputs.end(), kStderr) == settings->outputs.end()) held.release();
  if (settings->verbose) log::set_level(log::Level::verbose);
  else if (settings->quiet) log::set_level(log::Level::quiet);
  say_what_is_ignored(*settings, call.command.options);
  // What quiets messages everywhere is not meant for the line that whoever starts us reads; the option here is.
  if (settings->detach) return {record_detached(*settings, !is_set(started.line, "quiet"))};
  const SessionBegun begun = [&](const Run& run, const std::string& folder) {
    listener.begun(run, folder);
    return ok();
  };
  const auto end = run_session(*settings, system_clock(), listener ? begun : SessionBegun());
  if (!end) return refused(end.error());
  if (end->not_started && call.command.options == kRun && !listener)
    if (const std::string advice = coach_command(settings->command); !advice.empty()) log::error(advice);
  if (end->signal != 0) end_by(end->signal);  // comes back as PID 1 and where the signal ends nothing
  return {end->exit_status};
}

int record(const Invocation& call) {
  if (call.command.options != kRun &&
      std::find(call.arguments.begin(), call.arguments.end(), "--detach") != call.arguments.end())
    name_as_detached();
  const AsStarted as_started;
  Listener listener(call.command.options == kRun ? call.arguments : std::span<const std::string>());
  const Attempt attempt = record_attempt(call, as_started, listener);
  const auto command = attempt.over || call.command.options != kRun
                           ? std::vector<std::string>()
                           : command_left_open(call.arguments, attempt.fail_open);
  if (!command.empty()) {
    listener.not_recorded();
    return become_command(command, as_started);
  }
  listener.refused();
  return attempt.status;
}

}  // namespace

int run_command(const Invocation& call) { return record(call); }
int attach_command(const Invocation& call) { return record(call); }
int watch_command(const Invocation& call) { return record(call); }
int tracker_program(const Invocation& call) { return record(call); }

}  // namespace tacho
