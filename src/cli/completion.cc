// Shell completions for bash, zsh and fish, from the option and command tables.
#include <algorithm>

#include "base/joined.h"
#include "base/text.h"
#include "cli/concat.h"
#include "cli/docs.h"
#include "cli/fields.h"
#include "probe/kit/probe.h"

namespace tacho {
namespace {

std::vector<std::string_view> visible_names(std::span<const Command> commands) {
  std::vector<std::string_view> names;
  for (const Command& command : commands)
    if (!command.hidden) names.push_back(command.name);
  return names;
}

// The words an option's value may be; empty when it is free.
std::vector<std::string_view> value_words(const Option& option) {
  if (option.name == "probe" || option.name == "no-probe") {
    std::vector<std::string_view> names;
    for (const ProbeInfo& probe : all_probes()) names.push_back(probe.name);
    return names;
  }
  if (option.name == "hide") return {hide_words().begin(), hide_words().end()};
  return choices(option);
}

bool is_folder(const Option& option) { return option.metavar == "DIR"; }
bool is_file(const Option& option) {
  return option.metavar == "FILE" || option.metavar == "DEST" || option.metavar == "PATH";
}

bool takes_runs(const Command& command) {
  for (const std::string_view name :
       {"show", "report", "compare", "advise", "why", "top", "rm", "note", "deliver", "export"})
    if (command.name == name) return true;
  return false;
}

// What a subcommand works on, besides options.
std::vector<std::string_view> argument_words(std::span<const Command> commands, const Command& command) {
  if (command.name == "list") return {"metrics", "probes", "sinks"};
  if (takes_runs(command)) return {"last"};
  if (command.name == "help") return visible_names(commands);
  if (command.name == "cromwell") return {"upload", "serve", "import", "analyze"};
  if (command.name == "bq") return {"columns", "init"};
  return {};
}

// Runs, and metrics files too.
bool takes_files(const Command& command) {
  return command.name == "report" || command.name == "compare" || command.name == "advise" || command.name == "why";
}

// In single quotes for any of the three shells.
std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += "'\\''";
    else out += c;
  }
  return out + "'";
}

std::string flags_of(unsigned subcommand) {
  std::string out;
  for (const Option& option : all_options())
    if ((option.subcommands & subcommand) != 0) (out += out.empty() ? "--" : " --") += option.name;
  return out;
}

// "--interval|-i", as a case pattern.
std::string pattern(const Option& option) {
  std::string out = "--" + std::string(option.name);
  if (option.short_name != 0) (out += "|-") += option.short_name;
  return out;
}

// Options once, although a name may stand in the table for two subcommands.
std::vector<const Option*> valued_options() {
  std::vector<const Option*> found;
  for (const Option& option : all_options()) {
    const bool known = std::any_of(found.begin(), found.end(), [&](const Option* o) { return o->name == option.name; });
    if (option.kind != Kind::flag && !known) found.push_back(&option);
  }
  return found;
}

constexpr std::string_view kNextLine = " \\\n        ";

std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_action(const Option& option) {
  const auto words = value_words(option);
  if (!words.empty()) return concat({"(", joined(words, " "), ")"});
  if (is_folder(option)) return "_files -/";
  if (is_file(option)) return "_files";
  if (option.name == "job") return "{_tacho_names job-names}";
  return option.name == "pid" ? "_pids" : " ";
}

}  // namespace

std::string bash_completion(std::span<const Command> commands) {
  std::string valued;
  for (const Option* option : valued_options()) valued += concat({valued.empty() ? "" : "|", pattern(*option)});
  std::string out = concat({R"(# bash completion for tacho; printed by tacho docs completion-bash
_tacho() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} sub=${COMP_WORDS[1]} i begun=
  COMPREPLY=()
  # Names of runs and jobs are somebody's text: compared and quoted, never expanded as compgen -W would.
  _tacho_runs() {
    local name word
    while IFS= read -r name; do
      [[ $name == "$cur"* ]] && printf -v word %q "$name" && COMPREPLY+=("$word")
    done < <(tacho docs "$1" 2> /dev/null)
  }
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W ")",
                            joined(visible_names(commands), " "), R"( --help --version" -- "$cur")); return
  fi
  if [[ $sub == run || $sub == -* ]]; then
    # Once the job's command has begun, it is completed as if it stood alone.
    for ((i = 1; i < COMP_CWORD; i++)); do
      case ${COMP_WORDS[i]} in
        --) ((i++)); begun=1; break;;
        )",
                            valued, R"()
          [[ ${COMP_WORDS[i+1]} == = ]] && ((i++)); ((i++));;
        -*) ;;
        *) if ((i > 1)); then begun=1; break; fi;;
      esac
    done
    if [[ $begun ]]; then
      if declare -F _command_offset > /dev/null; then _command_offset "$i"; else COMPREPLY=($(compgen -c -f -- "$cur")); fi
      return
    fi
  fi
  [[ $cur == = ]] && cur=
  [[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD-2]}
  case $prev in
)"});
  for (const Option* option : valued_options()) {
    const auto words = value_words(*option);
    std::string reply = is_folder(*option) ? "-d" : is_file(*option) ? "-f" : "";
    if (!words.empty()) reply = concat({"-W \"", joined(words, " "), "\""});
    if (!reply.empty()) reply = concat({"COMPREPLY=($(compgen ", reply, " -- \"$cur\")); "});
    if (option->name == "job") reply = "_tacho_runs job-names; ";
    out += concat({"    ", pattern(*option), ") ", reply, "return;;\n"});
  }
  out += "  esac\n  case $sub in\n";
  for (const Command& command : commands) {
    if (command.hidden) continue;
    std::string words = flags_of(command.options);
    for (const std::string_view word : argument_words(commands, command)) (words += ' ') += word;
    const std::string_view more = takes_files(command) ? " -f" : command.name == "run" ? " -c" : "";
    const std::string_view runs = takes_runs(command) ? "; _tacho_runs run-names" : "";
    out += concat(
        {"    ", command.name, ") COMPREPLY=($(compgen -W \"", words, "\"", more, " -- \"$cur\"))", runs, ";;\n"});
  }
  return out + "  esac\n}\ncomplete -F _tacho tacho\n";
}

std::string zsh_completion(std::span<const Command> commands) {
  std::string out =
      "#compdef tacho\n# zsh completion for tacho; printed by tacho docs completion-zsh\n"
      "_tacho_names() {\n  local -a names=(\"${(@f)$(tacho docs $1 2> /dev/null)}\")\n  compadd -a names\n}\n"
      "_tacho_run_or_file() { _tacho_names run-names; _files }\n"
      "_tacho() {\n  local -a commands=(\n";
  for (const Command& command : commands)
    if (!command.hidden) out += "    " + quoted(std::string(command.name) + ":" + zsh_text(command.help)) + "\n";
  out +=
      "  )\n  if ((CURRENT == 2)); then _describe command commands; return; fi\n"
      "  local sub=$words[2]\n  shift words; ((CURRENT--))\n  case $sub in\n";
  for (const Command& command : commands) {
    if (command.hidden) continue;
    out += "    " + std::string(command.name) + ")\n      _arguments -S";
    for (const Option& option : all_options()) {
      if ((option.subcommands & command.options) == 0) continue;
      const bool valued = option.kind != Kind::flag;
      const std::string value = valued ? concat({":", zsh_text(option.metavar), ":", zsh_action(option)}) : "";
      const std::string tail = concat({"[", zsh_text(option.help), "]", value});
      const std::string_view star = option.repeatable ? "*" : "";
      out += concat({kNextLine, quoted(concat({star, "--", option.name, valued ? "=" : "", tail}))});
      const std::string_view letter(&option.short_name, 1);
      if (option.short_name != 0)
        out += concat({kNextLine, quoted(concat({star, "-", letter, valued ? "+" : "", tail}))});
    }
    const auto words = argument_words(commands, command);
    if (command.name == "run") out += concat({kNextLine, "'*::command:_normal'"});
    else if (takes_files(command)) out += concat({kNextLine, "'*:run or file:_tacho_run_or_file'"});
    else if (takes_runs(command)) out += concat({kNextLine, "'*:run:{_tacho_names run-names}'"});
    else if (!words.empty()) out += concat({kNextLine, quoted(concat({"1:argument:(", joined(words, " "), ")"}))});
    out += "\n      ;;\n";
  }
  return out + "  esac\n}\n_tacho \"$@\"\n";
}

std::string fish_completion(std::span<const Command> commands) {
  std::string out = "# fish completion for tacho; printed by tacho docs completion-fish\ncomplete -c tacho -f\n";
  for (const Command& command : commands) {
    if (command.hidden) continue;
    out += concat({"complete -c tacho -n __fish_use_subcommand -a ", command.name, " -d ", quoted(command.help), "\n"});
    const std::string when = "complete -c tacho -n '__fish_seen_subcommand_from " + std::string(command.name) + "'";
    for (const Option& option : all_options()) {
      if ((option.subcommands & command.options) == 0) continue;
      out += when + " -l " + std::string(option.name);
      if (option.short_name != 0) (out += " -s ") += option.short_name;
      const auto words = value_words(option);
      if (!words.empty()) out += " -x -a " + quoted(joined(words, " "));
      else if (is_folder(option)) out += " -x -a '(__fish_complete_directories)'";
      else if (is_file(option)) out += " -r -F";
      else if (option.name == "job") out += " -x -a '(tacho docs job-names 2> /dev/null)'";
      else if (option.kind != Kind::flag) out += " -x";
      out += " -d " + quoted(option.help) + "\n";
    }
    const auto words = argument_words(commands, command);
    if (!words.empty()) out += when + " -a " + quoted(joined(words, " ")) + "\n";
    if (takes_runs(command)) out += when + " -a '(tacho docs run-names 2> /dev/null)'\n";
    if (takes_files(command)) out += when + " -F\n";
    if (command.name == "run") out += when + " -a '(__fish_complete_subcommand --fcs-skip=2)'\n";
  }
  return out;
}

}  // namespace tacho
