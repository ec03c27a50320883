// An environment variable as a value: trimmed, and empty when unset. Thread-safe as long as nobody sets one meanwhile.
#pragma once
#include <cstdlib>
#include <string>

#include "base/text.h"

namespace tacho {

inline std::string environment(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : std::string(trim(text));
}
inline bool environment_on(const char* name) { return parse_bool(environment(name)).value_or(false); }

// TACHO_NO_CLOUD and TACHO_CLOUD_PROBE=off: no metadata service is to be asked. Whatever else stands in the first one, somebody
// wanted silence.
inline bool metadata_is_off() {
  return parse_bool(environment("TACHO_NO_CLOUD")).value_or(true) || lower(environment("TACHO_CLOUD_PROBE")) == "off";
}

}  // namespace tacho
