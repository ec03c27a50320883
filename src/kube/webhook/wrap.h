// The trainer's command, wrapped so that the collector learns how it ended. Two forms: the launcher, which takes the
// words as they are, and a shell line for clusters where the launcher cannot be copied. Texts are as in a pod:
// Kubernetes will turn $(VAR) into its value and $$ into $ once. Pure functions; thread-safe.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tacho {

struct WrapOptions {
  std::string folder;  // of the marker
  std::string log;     // StdOut: where the output is copied; else empty
  bool stop_rules = false;
};

struct Wrapped {
  std::vector<std::string> command, args;
};

inline constexpr const char* kLauncherPath = "/tacho/exec";

Wrapped wrap_with_launcher(const std::vector<std::string>& words, const WrapOptions& options);
Wrapped wrap_with_shell(const std::vector<std::string>& words, const WrapOptions& options);

// Where the script is in `[env NAME=VALUE…] SHELL -…c SCRIPT [ARGUMENT…]`, busybox and long options too; nothing when
// the words are no such call.
std::optional<size_t> script_position(const std::vector<std::string>& words);

// A text of ours that Kubernetes must leave as it is: $ is doubled where it would have a meaning.
std::string for_kubernetes(std::string_view text);
// One word for a shell, in single quotes.
std::string quoted_word(std::string_view text);

}  // namespace tacho
