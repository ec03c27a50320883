#include "kube/webhook/wrap.h"

#include <algorithm>
#include <array>

#include "base/path.h"
#include "kube/webhook/pod_parts.h"

namespace tacho {
namespace {

constexpr std::array<std::string_view, 9> kShells = {"sh",  "bash", "dash",  "ash",  "zsh",
                                                     "ksh", "mksh", "ksh93", "rbash"};

bool is_assignment(std::string_view word) {
  const size_t equals = word.find('=');
  return equals != std::string_view::npos && equals > 0;
}

// Behind `env` and its options and assignments: where the command is.
size_t behind_env(const std::vector<std::string>& words) {
  if (words.empty() || last_part(words[0]) != "env") return 0;
  size_t at = 1;
  for (; at < words.size(); at++) {
    const std::string_view word = words[at];
    if (word == "--") return at + 1;
    if (word == "-u" || word == "--unset" || word == "-C" || word == "--chdir") {
      at++;
    } else if (word == "-S" || word.starts_with("--split-string") ||
               (word.starts_with("-") && word.find('S') != word.npos && word[1] != '-')) {
      return words.size();  // a command line in one word: not taken apart
    } else if (!word.starts_with("-") && !is_assignment(word)) {
      break;
    }
  }
  return at;
}

std::string path_word(const std::string& path) {
  const bool plain = std::all_of(path.begin(), path.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' || c == '.' ||
           c == '_' || c == '-' || c == ',';
  });
  return for_kubernetes(plain && !path.empty() ? path : quoted_word(path));
}

// A trailing slash would make a file in the root of nothing.
// A script runs in a subshell: it may exit, exec, set traps or stop at its first failure (-e) and still comes back
// here. The empty line ends a last line that ends in a backslash. A single command needs none of this and stays the
// shell's own child.
constexpr const char* kScriptBegin =
    "case $- in *e*) tacho_e=1 ;; *) tacho_e= ;; esac\nset +e\n{\n(\nif [ -n \"$tacho_e\" ]; then set -e; fi\n";
constexpr const char* kScriptEnd = "\n\n)\n}";

std::string wrap_group(const std::string& group, const WrapOptions& options) {
  // $$ is the shell's own pid, also within the group; Kubernetes makes it of four.
  const std::string marker = path_word(without_slash(options.folder)) + "/$$$$.pid";
  std::string out = group;
  if (!options.log.empty()) out += std::string(" 1>") + path_word(options.log) + " 2>&1";
  out += "\ntacho_status=$?\n";
  if (options.stop_rules) {
    out += "if [ \"$tacho_status\" -ne 0 ]; then\ntacho_mark=\nif [ -r " + marker + " ]; then read -r tacho_mark < " +
           marker +
           "; fi\nif [ \"$tacho_mark\" = early-stopped ]; then echo Training Container was Early Stopped\n"
           "else echo Training Container was Failed; exit 1; fi\nfi\n";
  } else {
    out += "if [ \"$tacho_status\" -ne 0 ]; then exit \"$tacho_status\"; fi\n";
  }
  // Older collectors find the trainer by this very text in its command line.
  out += "echo completed > " + marker + "\n";
  return out;
}

}  // namespace

std::string for_kubernetes(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (text[at] != '$') {
      out += text[at++];
      continue;
    }
    const size_t end = std::min(text.find_first_not_of('$', at), text.size());
    const bool plain = end - at == 1 && (end == text.size() || text[end] != '(');
    out.append(plain ? 1 : 2 * (end - at), '$');
    at = end;
  }
  return out;
}

std::string quoted_word(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += "'\\''";
    else out += c;
  }
  return out + "'";
}

std::optional<size_t> script_position(const std::vector<std::string>& words) {
  size_t at = behind_env(words);
  if (at >= words.size()) return std::nullopt;
  if (last_part(words[at]) == "busybox") at++;
  if (at >= words.size() || std::find(kShells.begin(), kShells.end(), last_part(words[at])) == kShells.end())
    return std::nullopt;
  bool has_c = false;
  for (at++; at < words.size(); at++) {
    const std::string_view word = words[at];
    if (word == "--" || word == "-") {
      at++;
      break;
    }
    if (word.starts_with("--")) {
      if (word == "--rcfile" || word == "--init-file") at++;
      continue;
    }
    if (word.size() < 2 || (word[0] != '-' && word[0] != '+')) break;
    for (const char option : word.substr(1)) {
      if (option == 'c' && word[0] == '-') has_c = true;
      if (option == 'o' || option == 'O') at++;  // its name is the next word
    }
  }
  return has_c && at < words.size() ? std::optional(at) : std::nullopt;
}

Wrapped wrap_with_launcher(const std::vector<std::string>& words, const WrapOptions& options) {
  Wrapped out;
  out.command = {kLauncherPath, "--dir", for_kubernetes(without_slash(options.folder))};
  if (!options.log.empty()) {
    out.command.push_back("--file");
    out.command.push_back(for_kubernetes(options.log));
  }
  out.command.push_back("--note");
  out.command.push_back(for_kubernetes("echo completed > " + without_slash(options.folder)));
  out.command.push_back("--");
  out.command.insert(out.command.end(), words.begin(), words.end());
  return out;
}

Wrapped wrap_with_shell(const std::vector<std::string>& words, const WrapOptions& options) {
  Wrapped out;
  if (const std::optional<size_t> script = script_position(words)) {
    const auto at = words.begin() + static_cast<std::ptrdiff_t>(*script);
    out.command.assign(words.begin(), at);
    out.args.push_back(wrap_group(std::string(kScriptBegin) + *at + kScriptEnd, options));
    out.args.insert(out.args.end(), at + 1, words.end());
    return out;
  }
  // The words stay words: Kubernetes puts the value of $(VAR) into them, and a quote in a value would end any quotes
  // that stand around it in a script. exec takes the program, never a builtin of the shell that has its name.
  out.command = {"sh", "-c"};
  out.args = {wrap_group("{\n(exec \"$@\")\n}", options), "sh"};
  out.args.insert(out.args.end(), words.begin(), words.end());
  return out;
}

}  // namespace tacho
