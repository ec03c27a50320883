// One setter an option: checks one value and stores it in the settings. Pure; thread-safe.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/options.h"
#include "engine/settings.h"

namespace tacho {

// Settings in the making.
struct Draft {
  Settings settings;
  bool no_store = false;
  std::string progress = "auto";  // its meaning depends on the mode, which is known last
};

// What a setter sees: one value, and whether it is the first that this source gives for this option.
struct Value {
  const Option& option;
  const std::string& text;
  bool first;
};

struct Setter {
  std::string_view option;
  Status (*store)(Draft& draft, const Value& value);
};
// Null for the options that are read elsewhere: config, json, help, version.
const Setter* find_setter(std::string_view option);

}  // namespace tacho
