// Command-line flags as Go's flag package reads them: -x v, -x=v, --x v and --x=v are the same, `--` ends them. A flag
// that is a switch may stand alone. Durations and booleans follow Go's syntax too. Pure functions, thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tacho {

struct GoFlag {
  std::string_view name;   // without dashes
  bool is_switch = false;  // may stand without a value, which is then "true"
};

struct GivenFlag {
  std::string name, value;
};

struct GivenFlags {
  std::vector<GivenFlag> flags;  // in their order
  bool help = false;             // -h or -help, unless a flag of that name is known
};

// Unknown flags, missing values and words that belong to no flag are errors. What follows `--` is not looked at.
Result<GivenFlags> parse_go_flags(std::span<const std::string> arguments, std::span<const GoFlag> known);

// "300ms", "1.5h", "2m30s", "-5s", "0"; units ns us µs μs ms s m h. A bare integer is a number of seconds.
std::optional<int64_t> parse_go_duration_ns(std::string_view text);

// 1 t T TRUE true True are true; anything else is false.
bool parse_go_bool(std::string_view text);

}  // namespace tacho
