#include "cli/resolve.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/setters.h"
#include "os/environment.h"
#include "os/file.h"
#include "report/store/store.h"
#include "sink/sink.h"

namespace tacho {
namespace {

using Layer = std::vector<Given>;

constexpr int64_t kAutomaticProgress_ns = 10 * kNsPerSec;

// NO_COLOR and CLICOLOR_FORCE say yes by being there; tacho's own variables hold the value itself.
std::string variable_value(const Option& option, std::string_view variable, std::string value) {
  if (option.name != "color" || value.empty()) return value;
  if (variable == "NO_COLOR") return "never";
  return value == "0" ? "" : "always";
}

Layer environment_layer(const Environment& environment, std::string_view Option::*variable, unsigned subcommand) {
  Layer layer;
  for (const Option& option : all_options()) {
    const std::string_view name = option.*variable;
    if (name.empty() || (option.subcommands & subcommand) == 0 || find_setter(option.name) == nullptr) continue;
    const std::string value = variable_value(option, name, environment(name));
    if (value.empty()) continue;
    if (option.kind != Kind::comma_list) {
      layer.push_back({&option, value, std::string(name)});
      continue;
    }
    for (const std::string_view item : split(value, ','))
      if (!trim(item).empty()) layer.push_back({&option, std::string(trim(item)), std::string(name)});
  }
  return layer;
}

Status apply_layer(Draft& draft, const Layer& layer) {
  std::vector<const Option*> seen;
  for (const Given& given : layer) {
    const Setter* setter = find_setter(given.option->name);
    if (setter == nullptr) continue;
    const bool first = std::find(seen.begin(), seen.end(), given.option) == seen.end();
    if (first) seen.push_back(given.option);
    const Status status = setter->store(draft, {*given.option, given.value, first});
    if (status) continue;
    Error error = status.error();
    error.what = given.origin + ": " + error.what;
    return error;
  }
  return ok();
}

struct ConfigChoice {
  std::string path;
  std::string origin;  // "-c" or "TACHO_CONFIG"; empty: nobody named it
};

// The file that -c or TACHO_CONFIG names, else the first of the usual places.
ConfigChoice choose_config(const ParsedLine& line, bool tracker, const Environment& environment) {
  ConfigChoice config{environment("TACHO_CONFIG"), "TACHO_CONFIG"};
  for (const Given& given : line.given)
    if (given.option->name == "config") config = {given.value, given.origin};
  if (!config.path.empty() || config.origin != "TACHO_CONFIG") return config;
  if (!tracker) return {find_config(environment), ""};
  struct stat info {};
  const bool is_file =
      ::stat("resource-tracker.toml", &info) == 0 && S_ISREG(info.st_mode);  // a pipe is not waited for
  return {is_file ? "resource-tracker.toml" : "", ""};
}

// Whoever works in a folder did not choose what lies there: a file that nobody named does not say where anything goes.
void drop_places(Layer& layer, const std::string& path) {
  std::string keys;
  std::erase_if(layer, [&](const Given& given) {
    if (!names_a_place(*given.option)) return false;
    const std::string key = std::string(given.option->key);
    if (keys.find(key) == std::string::npos) keys += (keys.empty() ? "" : ", ") + key;
    return true;
  });
  static bool told = false;
  if (!keys.empty() && !std::exchange(told, true))
    log::warn(std::string("not obeyed in ") + (path.starts_with('/') ? "" : "./") + path + ": " + keys +
              "; where things go is said by options, or by a file that -c names: -c " + path);
}

Result<Layer> config_layer(const ConfigChoice& config, Subcommand subcommand) {
  if (config.path.empty() && config.origin.empty()) return Layer{};
  const bool is_here = config.origin.empty() && config.path.find('/') == std::string::npos;
  const bool is_found = config.origin.empty() && !is_here;
  bool may_name_places = !is_here;
  const auto text = is_found                            ? read_found_config(config.path, may_name_places)
                    : is_here && subcommand != kTracker ? read_config_here(config.path)
                                                        : read_whole_file(config.path, 1 << 20);
  if (!text) {
    const std::string place = config.origin.empty() ? "" : config.origin + ": ";
    return Error{Code::invalid, place + "cannot read the configuration", config.path, text.error().hint};
  }
  auto layer = parse_config(*text, config.path, subcommand == kTracker ? ConfigRules::tracker : ConfigRules::strict);
  // The file is shared by all subcommands: what this one does not take is none of its business.
  if (layer) std::erase_if(*layer, [&](const Given& given) { return (given.option->subcommands & subcommand) == 0; });
  if (layer && !may_name_places) drop_places(*layer, config.path);
  return layer;
}

// The weakest layer. The older tool never stops because of its file, and speaks of it only when it was named.
Status apply_config(Draft& draft, const ParsedLine& line, Subcommand subcommand, const Environment& environment) {
  const ConfigChoice config = choose_config(line, subcommand == kTracker, environment);
  const auto layer = config_layer(config, subcommand);
  Draft trial = draft;
  const Status status = layer ? apply_layer(trial, *layer) : Status(layer.error());
  if (status) draft = std::move(trial);
  if (status || subcommand != kTracker) return status;
  const std::string message = "the configuration is not used: " + status.error().message();
  if (config.origin.empty()) log::debug(message);
  else log::warn(message);
  return ok();
}

void finish(Draft& draft, const ParsedLine& line, Subcommand subcommand, const Surroundings& surroundings) {
  Settings& settings = draft.settings;
  settings.compatible = subcommand == kTracker;
  if (draft.no_store) settings.store_dir.clear(), settings.store_named = false;
  else if (settings.store_dir.empty() && !settings.compatible) settings.store_dir = default_store_dir();
  if (settings.compatible) {
    if (settings.format.empty()) settings.format = "json";
    if (settings.outputs.empty()) settings.outputs = {std::string(kStderr)};
    if (settings.quiet) settings.outputs.clear();
    settings.summary = SummaryStyle::none;
  }
  if (settings.quiet) settings.summary = SummaryStyle::none;
  settings.command = line.words;
  settings.mode = !line.words.empty()                                           ? Mode::run
                  : settings.attach_pid != 0 || !settings.attach_cgroup.empty() ? Mode::attach
                                                                                : Mode::watch;
  if (subcommand == kWatch) settings.mode = Mode::watch;
  if (settings.mode != Mode::attach) settings.attach_pid = 0;
  const bool automatic = settings.mode != Mode::run && surroundings.stderr_is_terminal && !settings.compatible;
  if (settings.quiet || draft.progress == "never") settings.progress_ns.reset();
  else if (draft.progress != "auto")
    settings.progress_ns = parse_duration_ns(draft.progress).value_or(kAutomaticProgress_ns);
  else if (automatic) settings.progress_ns = kAutomaticProgress_ns;
}

}  // namespace

Surroundings real_surroundings() {
  return {[](std::string_view name) { return environment_or(std::string(name).c_str()); },
          ::isatty(STDERR_FILENO) == 1};
}

Result<Settings> resolve(const ParsedLine& line, Subcommand subcommand, const Surroundings& surroundings) {
  const Environment& environment = surroundings.environment;
  Draft draft;
  Status status = apply_config(draft, line, subcommand, environment);
  if (status) status = apply_layer(draft, environment_layer(environment, &Option::tracker_env, subcommand));
  if (status) status = apply_layer(draft, environment_layer(environment, &Option::tacho_env, subcommand));
  if (status) status = apply_layer(draft, line.given);
  if (!status) return status.error();

  if (!draft.settings.attach_cgroup.empty() && draft.settings.attach_pid != 0) {
    const auto is_pid = [](const Given& given) { return given.option->name == "pid"; };
    if (std::any_of(line.given.begin(), line.given.end(), is_pid))
      return Error{Code::invalid, "--pid and --cgroup exclude each other", "", "give one of them"};
    draft.settings.attach_pid = 0;  // of the file
  }
  finish(draft, line, subcommand, surroundings);
  return std::move(draft.settings);
}

Result<std::vector<Explained>> explain(const ParsedLine& line, Subcommand subcommand,
                                       const Surroundings& surroundings) {
  if (const auto settings = resolve(line, subcommand, surroundings); !settings) return settings.error();
  const Environment& environment = surroundings.environment;
  const auto config = config_layer(choose_config(line, subcommand == kTracker, environment), subcommand);
  if (!config) return config.error();
  // The strongest last, as resolve() lays them on top of each other.
  const std::array<Layer, 4> layers{*config, environment_layer(environment, &Option::tracker_env, subcommand),
                                    environment_layer(environment, &Option::tacho_env, subcommand), line.given};
  std::vector<Explained> all;
  for (const Option& option : all_options()) {
    if ((option.subcommands & subcommand) == 0 || find_setter(option.name) == nullptr) continue;
    Explained explained{&option, {}, ""};
    for (const Layer& layer : layers) {
      bool first = option.name != "hide" && option.name != "probe" && option.name != "no-probe";  // those add up
      for (const Given& given : layer) {
        if (given.option->name != option.name) continue;
        if (first || !option.repeatable) explained.values.clear(), explained.origin.clear();
        first = false;
        explained.values.push_back(given.value);
        if (explained.origin.find(given.origin) == std::string::npos)
          explained.origin += (explained.origin.empty() ? "" : ", ") + given.origin;
      }
    }
    all.push_back(std::move(explained));
  }
  return all;
}

}  // namespace tacho
