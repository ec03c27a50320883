// Which runs of the spool a person means by the words behind tacho deliver: ids, parts of them, the service's ids, and
// folders. Nothing is changed, and nothing that is not a run is taken for one. Thread-safe (no state).
#pragma once
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace tacho {

// Their folders; an Error names one that is not there.
Result<std::vector<std::string>> named_runs(std::span<const std::string> names);

}  // namespace tacho
