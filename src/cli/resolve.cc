#include "cli/resolve.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/fields.h"
#include "os/file.h"
#include "report/store.h"

namespace tacho {
namespace {

constexpr int64_t kShortestInterval_ns = 10 * kNsPerMs;
constexpr int64_t kLongestInterval_ns = 3600 * kNsPerSec;
constexpr int64_t kAutomaticProgress_ns = 10 * kNsPerSec;

Error bad(std::string_view what, std::string_view value, std::string_view hint) {
  return {Code::invalid, std::string(what), std::string(value), std::string(hint)};
}

// What a setter sees: one value, and whether it is the first that this source gives for this option.
struct Value {
  const Option& option;
  const std::string& text;
  bool first;
};

Status set_interval(Draft& draft, const Value& value) {
  const auto ns = parse_duration_ns(value.text);
  if (!ns) return ns.error();
  if (*ns < kShortestInterval_ns) return bad("too short", value.text, "from 10ms to 1h");
  if (*ns > kLongestInterval_ns) return bad("too long", value.text, "from 10ms to 1h");
  draft.settings.interval_ns = *ns;
  return ok();
}

Status set_flag(bool& target, const Value& value) {
  const auto flag = parse_bool(value.text);
  if (!flag) return bad("not a yes or no", value.text, "write 1 or 0, true or false, yes or no, on or off");
  target = *flag;
  return ok();
}

Status set_text(std::string& target, const Value& value) {
  target = value.text;
  return ok();
}

Status set_path(std::string& target, const Value& value) {
  if (value.text.empty()) return bad("is empty", "", "name a file or folder");
  return set_text(target, value);
}

// The position of the value among the option's words; enums of Settings are in the order of the table.
Result<size_t> choice(const Value& value) {
  const auto words = choices(value.option);
  const auto found = std::find(words.begin(), words.end(), value.text);
  if (found != words.end()) return static_cast<size_t>(found - words.begin());
  std::string all;
  for (const std::string_view word : words) (all += all.empty() ? "one of " : ", ") += word;
  if (value.option.metavar.ends_with("|D")) all += ", or a duration";
  return bad("unknown word", value.text, all);
}

template <class Enum>
Status set_choice(Enum& target, const Value& value) {
  const auto index = choice(value);
  if (!index) return index.error();
  target = static_cast<Enum>(*index);
  return ok();
}

Status set_format(Draft& draft, const Value& value) {
  const auto index = choice(value);
  return index ? set_text(draft.settings.format, value) : Status(index.error());
}

Status set_progress(Draft& draft, const Value& value) {
  if (!parse_duration_ns(value.text) && !choice(value)) return choice(value).error();
  return set_text(draft.progress, value);
}

Status set_duration(int64_t& target, const Value& value) {
  const auto ns = parse_duration_ns(value.text);
  if (!ns) return ns.error();
  target = *ns;
  return ok();
}

Status set_timeout(Draft& draft, const Value& value) {
  return set_duration(draft.settings.timeout_ns.emplace(), value);
}

Status set_pid(Draft& draft, const Value& value) {
  const auto pid = parse_int<pid_t>(value.text);
  if (!pid || *pid <= 0) return bad("not a process id", value.text, "a whole number above 0");
  draft.settings.attach_pid = *pid;
  return ok();
}

Status add_output(Draft& draft, const Value& value) {
  if (value.text.empty()) return bad("is empty", "", "name a file, a URI, or - for stdout");
  if (value.first) draft.settings.outputs.clear();
  draft.settings.outputs.push_back(value.text);
  return ok();
}

Status add_tag(Draft& draft, const Value& value) {
  const size_t equals = value.text.find('=');
  if (equals == std::string::npos || equals == 0) return bad("not a tag", value.text, "write KEY=VALUE");
  if (value.first) draft.settings.metadata.tags.clear();
  draft.settings.metadata.tags.push_back(value.text);
  return ok();
}

// Hidden fields add up over all sources: a weaker one must not be undone by mistake.
Status add_hidden(Draft& draft, const Value& value) {
  auto& hide = draft.settings.hide;
  for (const std::string_view word : split(value.text, ',')) {
    if (trim(word).empty()) continue;
    auto fields = hidden_fields(trim(word));
    if (!fields) return fields.error();
    for (std::string& field : *fields)
      if (std::find(hide.begin(), hide.end(), field) == hide.end()) hide.push_back(std::move(field));
  }
  return ok();
}

// Each probe by itself: the strongest source that names it decides.
Status switch_probe(std::vector<std::string>& here, std::vector<std::string>& there, const Value& value) {
  for (const std::string_view word : split(value.text, ',')) {
    const std::string name(trim(word));
    if (name.empty()) continue;
    if (find_probe(name) == nullptr) {
      std::vector<std::string_view> names;
      for (const ProbeInfo& probe : all_probes()) names.push_back(probe.name);
      return unknown_word("probe", name, names, "tacho list probes lists all");
    }
    std::erase(there, name);
    if (std::find(here.begin(), here.end(), name) == here.end()) here.push_back(name);
  }
  return ok();
}

template <std::string Metadata::*member>
Status set_metadata(Draft& draft, const Value& value) {
  return set_text(draft.settings.metadata.*member, value);
}

struct Setter {
  std::string_view option;
  Status (*store)(Draft& draft, const Value& value);
};

// One line an option. Those without one are read elsewhere: config, json, help, version.
constexpr auto kSetters = std::to_array<Setter>({
    {"interval", set_interval},
    {"probe", [](Draft& d, const Value& v) { return switch_probe(d.settings.probes_on, d.settings.probes_off, v); }},
    {"no-probe", [](Draft& d, const Value& v) { return switch_probe(d.settings.probes_off, d.settings.probes_on, v); }},
    {"pss", [](Draft& d, const Value& v) { return set_choice(d.settings.pss, v); }},
    {"method", [](Draft& d, const Value& v) { return set_choice(d.settings.method, v); }},
    {"output", add_output},
    {"format", set_format},
    {"store", [](Draft& d, const Value& v) { return d.no_store = false, set_path(d.settings.store_dir, v); }},
    {"no-store", [](Draft& d, const Value& v) { return set_flag(d.no_store, v); }},
    {"summary", [](Draft& d, const Value& v) { return set_choice(d.settings.summary, v); }},
    {"quiet", [](Draft& d, const Value& v) { return set_flag(d.settings.quiet, v); }},
    {"progress", set_progress},
    {"strict", [](Draft& d, const Value& v) { return set_flag(d.settings.strict, v); }},
    {"hide", add_hidden},
    {"no-cloud", [](Draft& d, const Value& v) { return set_flag(d.settings.no_cloud, v); }},
    {"job-name", set_metadata<&Metadata::job_name>},
    {"project-name", set_metadata<&Metadata::project_name>},
    {"stage-name", set_metadata<&Metadata::stage_name>},
    {"task-name", set_metadata<&Metadata::task_name>},
    {"team", set_metadata<&Metadata::team>},
    {"env", set_metadata<&Metadata::env>},
    {"language", set_metadata<&Metadata::language>},
    {"orchestrator", set_metadata<&Metadata::orchestrator>},
    {"executor", set_metadata<&Metadata::executor>},
    {"external-run-id", set_metadata<&Metadata::external_run_id>},
    {"container-image", set_metadata<&Metadata::container_image>},
    {"tag", add_tag},
    {"pid", set_pid},
    {"cgroup", [](Draft& d, const Value& v) { return set_path(d.settings.attach_cgroup, v); }},
    {"timeout", set_timeout},
    {"kill-after", [](Draft& d, const Value& v) { return set_duration(d.settings.kill_after_ns, v); }},
    {"color", [](Draft& d, const Value& v) { return set_choice(d.settings.color, v); }},
    {"verbose", [](Draft& d, const Value& v) { return set_flag(d.settings.verbose, v); }},
});

const Setter* find_setter(std::string_view option) {
  const auto found = std::find_if(kSetters.begin(), kSetters.end(), [&](const Setter& s) { return s.option == option; });
  return found == kSetters.end() ? nullptr : &*found;
}

// NO_COLOR and CLICOLOR_FORCE say yes by being there; tacho's own variables hold the value itself.
std::string variable_value(const Option& option, std::string_view variable, std::string value) {
  if (option.name != "color" || value.empty()) return value;
  if (variable == "NO_COLOR") return "never";
  return value == "0" ? "" : "always";
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
  return {file_exists("resource-tracker.toml") ? "resource-tracker.toml" : "", ""};
}

Result<Layer> config_layer(const ConfigChoice& config, Subcommand subcommand) {
  if (config.path.empty() && config.origin.empty()) return Layer{};
  const auto text = read_whole_file(config.path, 1 << 20);
  if (!text) {
    const std::string place = config.origin.empty() ? "" : config.origin + ": ";
    return Error{Code::invalid, place + "cannot read the configuration", config.path, text.error().hint};
  }
  auto layer = parse_config(*text, config.path, subcommand == kTracker ? ConfigRules::tracker : ConfigRules::strict);
  // The file is shared by all subcommands: what this one does not take is none of its business.
  if (layer) std::erase_if(*layer, [&](const Given& given) { return (given.option->subcommands & subcommand) == 0; });
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
  if (draft.no_store) settings.store_dir.clear();
  else if (settings.store_dir.empty() && !settings.compatible) settings.store_dir = default_store_dir();
  if (settings.compatible) {
    if (settings.format.empty()) settings.format = "json";
    if (settings.outputs.empty()) settings.outputs = {"stderr:"};
    if (settings.quiet) settings.outputs.clear();
    settings.summary = SummaryStyle::none;
  }
  if (settings.quiet) settings.summary = SummaryStyle::none;
  settings.command = line.words;
  settings.mode = !line.words.empty() ? Mode::run
                  : settings.attach_pid != 0 || !settings.attach_cgroup.empty() ? Mode::attach
                                                                                : Mode::watch;
  if (subcommand == kWatch) settings.mode = Mode::watch;
  if (settings.mode != Mode::attach) settings.attach_pid = 0;
  const bool automatic = settings.mode != Mode::run && surroundings.stderr_is_terminal && !settings.compatible;
  if (settings.quiet || draft.progress == "never") settings.progress_ns.reset();
  else if (draft.progress != "auto") settings.progress_ns = parse_duration_ns(draft.progress).value_or(kAutomaticProgress_ns);
  else if (automatic) settings.progress_ns = kAutomaticProgress_ns;
}

}  // namespace

bool has_setter(std::string_view option) { return find_setter(option) != nullptr; }

Surroundings real_surroundings() {
  return {[](std::string_view name) {
            const char* value = std::getenv(std::string(name).c_str());
            return std::string(value != nullptr ? value : "");
          },
          ::isatty(STDERR_FILENO) == 1};
}

Layer environment_layer(const Environment& environment, std::string_view Option::*variable, unsigned subcommand) {
  Layer layer;
  for (const Option& option : all_options()) {
    const std::string_view name = option.*variable;
    if (name.empty() || (option.subcommands & subcommand) == 0 || !has_setter(option.name)) continue;
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

Result<Settings> resolve(const ParsedLine& line, Subcommand subcommand, const Surroundings& surroundings) {
  const Environment& environment = surroundings.environment;
  Draft draft;
  Status status = apply_config(draft, line, subcommand, environment);
  if (status) status = apply_layer(draft, environment_layer(environment, &Option::tracker_env, subcommand));
  if (status) status = apply_layer(draft, environment_layer(environment, &Option::tacho_env, subcommand));
  if (status) status = apply_layer(draft, line.given);
  if (!status) return status.error();

  if (!draft.settings.attach_cgroup.empty() && draft.settings.attach_pid != 0) {
    const bool both = std::any_of(line.given.begin(), line.given.end(), [](const Given& given) { return given.option->name == "pid"; });
    if (both) return Error{Code::invalid, "--pid and --cgroup exclude each other", "", "give one of them"};
    draft.settings.attach_pid = 0;  // of the file
  }
  finish(draft, line, subcommand, surroundings);
  return std::move(draft.settings);
}

}  // namespace tacho
