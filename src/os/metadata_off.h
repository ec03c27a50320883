// The variables that forbid asking a cloud's metadata service.
#pragma once
#include "base/text.h"
#include "os/environment.h"

namespace tacho {

// TACHO_NO_CLOUD and TACHO_CLOUD_PROBE=off: no metadata service is to be asked. A value of the first one that
// is no yes or no counts as yes: somebody wanted silence.
inline bool metadata_is_off() {
  return parse_bool(environment("TACHO_NO_CLOUD")).value_or(true) || lower(environment("TACHO_CLOUD_PROBE")) == "off";
}

}  // namespace tacho
