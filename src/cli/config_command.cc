// tacho config: every setting of a recording here, and where it comes from.
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "base/writer.h"
#include "cli/commands.h"
#include "cli/resolve.h"
#include "cli/variables.h"
#include "engine/settings.h"
#include "os/text_table.h"
#include "report/store/store.h"

namespace tacho {
namespace {

std::string shown_value(const Explained& setting) {
  std::string text;
  for (const std::string& value : setting.values) text += (text.empty() ? "" : ", ") + harmless_text(value);
  if (!setting.origin.empty() && setting.option->kind == Kind::flag)
    return parse_bool(text).value_or(false) ? "on" : "off";
  if (!setting.origin.empty()) return text;
  if (setting.option->name == "store") return default_store_dir();
  return setting.option->kind == Kind::flag ? "off" : std::string(setting.option->default_text);
}

std::string settings_json(const std::vector<Explained>& settings) {
  Writer out;
  JsonWriter json(out, true);
  json.array();
  for (const Explained& setting : settings) {
    json.object().key("name").value(setting.option->name).key("value");
    if (!setting.option->repeatable) {
      json.value(shown_value(setting));
    } else {
      json.array();
      for (const std::string& value : setting.values) json.value(value);
      json.end_array();
    }
    json.key("source").value(setting.origin.empty() ? "default" : setting.origin);
    json.key("variable").value(setting.option->tacho_env).key("key").value(setting.option->key).end_object();
  }
  json.end_array();
  return std::string(out.view()) + "\n";
}

// Those of the options given here that a recording knows, too.
ParsedLine as_run(const ParsedLine& line) {
  ParsedLine run;
  for (const Given& given : line.given)
    if (const Option* option = find_option(given.option->name, kRun))
      run.given.push_back({option, given.value, given.origin});
  return run;
}

}  // namespace

int config_command(const Invocation& call) {
  const Started started = start(call, Words::anywhere);
  if (started.done) return *started.done;
  if (!started.line.words.empty())
    return refuse({Code::invalid, "config takes no argument", started.line.words[0],
                   "write tacho config; settings are changed by options, variables and tacho.toml"});
  const auto own = resolve(started.line, kConfig, real_surroundings());
  if (!own) return refuse(own.error());
  const auto settings = explain(as_run(started.line), kRun, real_surroundings());
  if (!settings) return refuse(settings.error());
  for (const std::string& text : unknown_variables()) log::warn(text);
  if (is_set(started.line, "json")) return print(settings_json(*settings));
  Table table{{"SETTING", "VALUE", "SOURCE"}, {}, Overlong::cut};
  for (const Explained& setting : *settings)
    table.rows.push_back(
        {std::string(setting.option->name), shown_value(setting), setting.origin.empty() ? "default" : setting.origin});
  return print_text(table.text(use_color(own->color, STDOUT_FILENO), terminal_width(STDOUT_FILENO)));
}

}  // namespace tacho
