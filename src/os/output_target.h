// Where a file that a user named really is. Thread-safe (no state).
#pragma once
#include <string>

#include "base/result.h"

namespace tacho {

// The path without links, also where its end is not there yet: what a link leads to is replaced, not the link.
// denied: a link in a folder of everybody's, such as /tmp, that neither we nor the folder's owner made. The kernel has
// this rule for those who open a path (fs.protected_symlinks), but not for those who ask where a link leads.
Result<std::string> output_target(const std::string& path);

}  // namespace tacho
