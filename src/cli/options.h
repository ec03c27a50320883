// The option table: everything tacho knows about its options, as data. The parser, --help, the man page, the shell
// completions, the configuration keys and the environment variables are all made from it. Immutable, thread-safe.
//
// To add an option: one line in kOptions (options.cc) and one line in kSetters (setters.cc) that stores it.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tacho {

// The subcommands that take an option, as bits.
enum Subcommand : unsigned {
  kNoSubcommand = 0,
  kRun = 1 << 0,
  kAttach = 1 << 1,
  kWatch = 1 << 2,
  kRuns = 1 << 3,
  kShow = 1 << 4,
  kReport = 1 << 5,
  kList = 1 << 6,
  kDoctor = 1 << 7,
  kTracker = 1 << 8,  // called as resource-tracker
  kOther = 1 << 9,    // help, docs
  kMonitor = 1 << 10,
  kCompare = 1 << 11,
  kAdvise = 1 << 12,
  kTop = 1 << 13,
  kPrune = 1 << 20,
  kRm = 1 << 21,
  kNote = 1 << 22,
  kConfig = 1 << 23,
  kMark = 1 << 24,
  kExport = 1 << 25,
  kStop = 1 << 26,
  kVersion = 1 << 27,
  kWhy = 1 << 28,
  kQuery = 1 << 29,
  kRecord = kRun | kAttach | kWatch | kTracker,
  kStored = kRuns | kShow | kReport | kDoctor | kCompare | kAdvise | kTop | kPrune | kRm | kNote | kConfig | kExport |
            kStop | kWhy | kQuery,
  kEvery = (1 << 30) - 1,
};

enum class Group : uint8_t { recording, output, privacy, metadata, job_control, task, bigquery, general };
inline constexpr Group kGroups[] = {Group::recording,   Group::output, Group::privacy,  Group::metadata,
                                    Group::job_control, Group::task,   Group::bigquery, Group::general};
std::string_view group_title(Group group);

// What a value is; decides the type that the configuration file expects.
// A comma_list may hold several values, separated by commas, in a variable or a string of the file.
enum class Kind : uint8_t { flag, text, word, duration, integer, list, comma_list };

struct Option {
  std::string_view name;     // long name without --
  char short_name;           // 0: none
  std::string_view metavar;  // "D", "FILE", "csv|json"; empty for a flag
  Kind kind;
  bool repeatable;             // all values of the strongest source count, not its last one
  std::string_view tacho_env;  // empty: none
  std::string_view tracker_env;
  std::string_view key;  // configuration key; empty: not in a file
  std::string_view default_text;
  unsigned subcommands;
  Group group;
  std::string_view help;  // one sentence
};

std::span<const Option> all_options();
const Option* find_option(std::string_view name, unsigned subcommands = kEvery);
// "auto|always|never" as three words; empty when the value is free.
std::vector<std::string_view> choices(const Option& option);
// "-i, --interval D", as help and man page show it.
std::string option_label(const Option& option);

// A value somebody gave, and where: "--interval", "TACHO_INTERVAL", "tacho.toml:3".
struct Given {
  const Option* option;
  std::string value;
  std::string origin;
};

}  // namespace tacho
