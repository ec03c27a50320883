// Environment variables as values: nothing else in src/ calls getenv() (the launcher of katib/exec, which includes
// nothing of ours, has its own line). Thread-safe as long as nobody sets one meanwhile.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tacho {

// Trimmed; empty when unset.
std::string environment(const char* name);
// What counts as yes (parse_bool); anything else is no.
bool environment_on(const char* name);
// As it stands, for names of folders and for passwords; `otherwise` when it is unset or empty.
std::string environment_or(const char* name, std::string_view otherwise = "");
// As it stands, where set but empty means something else than unset.
std::optional<std::string> environment_raw(const char* name);
// Where it lies, until somebody sets or wipes it: of a secret there is to be no second copy. Empty when unset.
std::string_view environment_in_place(const char* name);

// Whether a locale is named (LC_ALL, LC_CTYPE, LANG) that is not of UTF-8.
bool locale_is_ascii();
// Text as this person's terminal can show it: where the locale is such a one, ASCII alone. For people only, never for
// JSON or files.
std::string in_locale(std::string text);

// The token of the service, the first that is set. No other program gets to see them.
constexpr std::array kTokenVariables{"SENTINEL_API_TOKEN", "SENTINEL_API_KEY"};
// For the receivers of metrics.
constexpr std::array kMetricSecrets{"TACHO_PROMETHEUS_TOKEN", "TACHO_PROMETHEUS_USER", "TACHO_PROMETHEUS_PASSWORD",
                                    "TACHO_PROMETHEUS_HEADERS"};
inline std::vector<std::string> secret_variables() {
  std::vector<std::string> names{kTokenVariables.begin(), kTokenVariables.end()};
  names.insert(names.end(), kMetricSecrets.begin(), kMetricSecrets.end());
  return names;
}

// The folder of the run that a process is part of, for `tacho mark` and whoever appends to its marks.csv.
inline constexpr char kRunFolderVariable[] = "TACHO_RUN";
// The work folder of a task of Nextflow, said by `tacho hook nextflow` to the tacho that it calls, and to no job.
inline constexpr char kHookedTaskVariable[] = "TACHO_NXF_TASK_WORKDIR";

// Overwrites the value where it lies (/proc/PID/environ shows that memory) and unsets it.
void wipe_environment(const char* name);
// For a child: pointers into environ, with a null at the end.
std::vector<char*> environment_without(const std::vector<std::string>& names);

}  // namespace tacho
