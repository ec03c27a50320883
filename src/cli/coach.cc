#include "cli/coach.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "os/file.h"

namespace tacho {
namespace {

struct Interpreter {
  std::string_view ending, program;
};
constexpr auto kInterpreters = std::to_array<Interpreter>({{".py", "python3"},
                                                           {".sh", "bash"},
                                                           {".R", "Rscript"},
                                                           {".r", "Rscript"},
                                                           {".pl", "perl"},
                                                           {".rb", "ruby"},
                                                           {".js", "node"},
                                                           {".jl", "julia"},
                                                           {".lua", "lua"},
                                                           {".jar", "java -jar"}});
constexpr auto kBuiltins = std::to_array<std::string_view>({"cd", "source", ".", "export", "alias", "ulimit", "set",
                                                            "eval", "exec", "unset", "umask", "trap", "wait", "type"});

// What other tools call it.
struct Synonym {
  std::string_view word, command;
};
constexpr auto kSynonyms = std::to_array<Synonym>(
    {{"record", "run"},       {"start", "run"},    {"exec", "run"},        {"ls", "runs"},      {"log", "runs"},
     {"logs", "runs"},        {"history", "runs"}, {"jobs", "runs"},       {"ps", "top"},       {"htop", "top"},
     {"live", "top"},         {"tail", "top"},     {"status", "top"},      {"kill", "stop"},    {"end", "stop"},
     {"delete", "rm"},        {"del", "rm"},       {"remove", "rm"},       {"clean", "prune"},  {"gc", "prune"},
     {"diff", "compare"},     {"html", "report"},  {"page", "report"},     {"plot", "report"},  {"view", "report"},
     {"info", "show"},        {"summary", "show"}, {"stats", "show"},      {"stat", "show"},    {"cat", "show"},
     {"recommend", "advise"}, {"explain", "why"},  {"settings", "config"}, {"check", "doctor"}, {"sql", "query"},
     {"annotate", "note"},    {"phase", "mark"},   {"upload", "deliver"},  {"send", "deliver"}});
constexpr auto kKeywords =
    std::to_array<std::string_view>({"if", "for", "while", "until", "case", "function", "{", "!", "[["});

bool is_assignment(std::string_view word) {
  const size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0 || (word[0] >= '0' && word[0] <= '9')) return false;
  return std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::string coach_file(const std::vector<std::string>& command, const struct stat& info) {
  const std::string& first = command[0];
  if (S_ISDIR(info.st_mode)) return "this is a folder; name a program: tacho run -- ls " + shell_word(first);
  const std::string here = first.find('/') == std::string::npos ? "./" + first : first;
  std::vector<std::string> rest(command.begin() + 1, command.end());
  const std::string behind = rest.empty() ? "" : " " + shell_words(rest);
  if (::access(first.c_str(), X_OK) == 0) return "it lies here: tacho run -- " + shell_word(here) + behind;
  for (const Interpreter& known : kInterpreters)
    if (first.ends_with(known.ending))
      return "it is not a program by itself: tacho run -- " + std::string(known.program) + " " + shell_word(first) +
             behind;
  return "it may not be executed: chmod +x " + shell_word(first) + ", then tacho run -- " + shell_word(here) + behind;
}

// It changes the shell that it is in: of use only before something else there.
std::string coach_builtin(const std::vector<std::string>& command) {
  const std::string& first = command[0];
  const std::string what = "this is a word of the shell: ";
  if (first == "cd")
    return what + "(cd " + (command.size() > 1 ? shell_word(command[1]) : "FOLDER") + " && tacho run -- CMD)";
  if (first == "exec" && command.size() > 1)
    return what + "tacho run -- " + shell_words({command.begin() + 1, command.end()});
  const std::string shell = first == "source" ? "bash" : "sh";
  return what + "tacho run -- " + shell + " -c " + shell_word(shell_words(command) + "; CMD");
}

}  // namespace

std::string_view coach_subcommand(std::string_view word) {
  for (const Synonym& one : kSynonyms)
    if (one.word == word) return one.command;
  return {};
}

std::string shell_words(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + shell_word(word);
  return out;
}

std::string coach_command(const std::vector<std::string>& command) {
  if (command.empty()) return "";
  const std::string& first = command[0];
  if (struct stat info{}; ::stat(first.c_str(), &info) == 0) return coach_file(command, info);
  if (std::find(kBuiltins.begin(), kBuiltins.end(), first) != kBuiltins.end()) return coach_builtin(command);
  if (first.find_first_of(" \t\n|&;<>()$`*?\"'") != std::string::npos) {
    // One word that a shell would take apart; with more behind it the quotes are in the wrong place.
    std::string text = first;
    for (size_t i = 1; i < command.size(); ++i) text += " " + command[i];
    return "this is a line for a shell: tacho run -- sh -c " + shell_word(text);
  }
  if (std::find(kKeywords.begin(), kKeywords.end(), first) != kKeywords.end())
    return "this begins a line for a shell; quote all of it: tacho run -- sh -c 'LINE'";
  if (first.size() > 1 && first[0] == '-')
    return "options of tacho stand before the dashes: tacho run " + first + " ... -- CMD";
  if (is_assignment(first)) return "a variable is set by env: tacho run -- env " + shell_words(command);
  if (first.starts_with('/')) return "";
  if (first.find('/') != std::string::npos)
    return "there is no such file; its path begins here, in " + harmless_text(real_path("."));
  for (const Interpreter& known : kInterpreters)
    if (first.ends_with(known.ending))
      return "there is no such file here; name its folder: tacho run -- " + std::string(known.program) + " PATH/" +
             shell_word(first);
  return "";
}

Error coach_attach(const std::string& word) {
  if (parse_int<pid_t>(word))
    return {Code::invalid, "a process is named by --pid", word, "write tacho attach --pid " + word};
  if (word.starts_with('/'))
    return {Code::invalid, "a cgroup is named by --cgroup", word, "write tacho attach --cgroup " + shell_word(word)};
  return {Code::invalid, "attach takes no command", word,
          "to record a command: tacho run -- " + shell_word(word) + "; a process: tacho attach --pid PID, and pgrep " +
              shell_word(word) + " lists them"};
}

}  // namespace tacho
