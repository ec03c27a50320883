#include "cli/listener.h"

#include <algorithm>

#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "base/writer.h"
#include "cli/commands.h"
#include "cli/parse.h"
#include "os/file.h"

namespace tacho {
namespace {

constexpr std::string_view kOption = "--begun-fd";

// What stands behind the option. A word of the command is none: it is looked for behind dashes alone where the line
// cannot be read.
std::optional<std::string> asked(std::span<const std::string> arguments) {
  const auto is_it = [](const std::string& word) { return word.starts_with(kOption); };
  if (std::none_of(arguments.begin(), arguments.end(), is_it)) return std::nullopt;
  if (const auto line = parse_arguments(arguments, kRun, Words::command)) return value_of(*line, "begun-fd");
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  if (dashes == arguments.end()) return std::nullopt;
  const auto word = std::find_if(arguments.begin(), dashes, is_it);
  if (word == dashes || !word->starts_with(std::string(kOption) + '=')) return std::nullopt;
  return word->substr(kOption.size() + 1);
}

std::string held_messages() {
  std::string text;
  for (const std::string& line : log::take()) text += (text.empty() ? "" : "\n") + line;
  return text;
}

}  // namespace

std::optional<int> listener_fd(std::string_view text) {
  const auto fd = parse_int<int>(text);
  if (!fd || *fd < 3 || !close_on_exec(*fd)) return std::nullopt;
  return *fd;
}

std::string begun_line(const Run& run, const std::string& folder, std::string_view warnings) {
  Writer text;
  JsonWriter json(text);
  json.object();
  json.key("id").value(run.id);
  json.key("folder");
  folder.empty() ? json.null() : json.value(real_path(folder));
  json.key("pid");
  run.pid > 0 ? json.integer(run.pid) : json.null();
  json.key("agent_pid").integer(run.tracker_pid);
  json.key("started").number(seconds_by_ms(run.outcome.started_realtime_ns), 3);
  if (!warnings.empty()) json.key("warnings").value(warnings);
  json.end_object();
  text.put('\n');
  return std::string(text.view());
}

Listener::Listener(std::span<const std::string> arguments) {
  const auto text = asked(arguments);
  const auto fd = text ? listener_fd(*text) : std::nullopt;
  if (!fd) return;
  fd_ = Fd(*fd);
  log::hold();
}

Listener::~Listener() {
  if (fd_) log::release();
}

void Listener::tell(std::string_view line) {
  static_cast<void>(write_all(fd_.get(), line));  // who does not listen is not waited for
  fd_.reset();
  log::release();
}

void Listener::begun(const Run& run, const std::string& folder) {
  if (fd_) tell(begun_line(run, folder, held_messages()));
}

void Listener::refused() {
  if (!fd_) return;
  Writer text;
  JsonWriter(text).object().key("error").value(held_messages()).end_object();
  text.put('\n');
  tell(text.view());
}

void Listener::not_recorded() {
  if (fd_) tell("{\"id\":null,\"folder\":null}\n");
}

}  // namespace tacho
