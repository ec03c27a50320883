// `tacho monitor`: flags and environment of the task monitor, whose rules differ from those of run, attach and watch: a
// variable that makes no sense must not keep a task from being measured (monitor/environment.h).
#include "monitor/monitor.h"

#include "base/log.h"
#include "base/text.h"
#include "cli/commands.h"
#include "monitor/environment.h"
#include "os/environment.h"
#include "os/file.h"

namespace tacho {
namespace {

constexpr int kBadUse = 2;  // the tool that this one takes the place of never ends a task's monitor with another one

MonitorSources real_sources(const ParsedLine& line) {
  MonitorSources sources;
  sources.flag = [&line](std::string_view name) -> std::optional<std::string> {
    std::optional<std::string> value;
    for (const Given& given : line.given)
      if (given.option->name == name) value = given.value;
    return value;
  };
  sources.variable = [](std::string_view name) { return environment_raw(std::string(name).c_str()); };
  sources.log_is_redirected = read_link("/proc/self/fd/1").ends_with("/monitoring.log");
  const std::string here = read_link("/proc/self/cwd");
  sources.in_cromwell_folder =
      here.ends_with("/cromwell_root") || (file_exists(here + "/script") && file_exists(here + "/stdout"));
  return sources;
}

}  // namespace

int monitor_command(const Invocation& call) {
  const Started started = start(call, Words::anywhere);
  if (started.done) return *started.done == kRefused ? kBadUse : *started.done;
  if (!started.line.words.empty())
    return refuse({Code::invalid, "monitor takes no argument", started.line.words[0], "see tacho monitor --help"}),
           kBadUse;
  const bool quiet = is_set(started.line, "quiet") || environment_on("TACHO_QUIET");
  if (quiet && !is_set(started.line, "verbose")) log::set_level(log::Level::quiet);
  const auto settings = monitor_settings(real_sources(started.line));
  if (!settings) return refuse(settings.error()), kBadUse;
  const auto status = run_monitor(*settings);
  return status ? *status : (refuse(status.error()), kBadUse);
}

}  // namespace tacho
