// Where a file that a user named really is. Thread-safe (no state).
#pragma once
#include <string>

#include "base/result.h"

namespace tacho {

// The path without links, also where its end is not there yet: what a link leads to is replaced, not the link.
// denied: a link or file in a folder of everybody's, such as /tmp, that neither we nor the folder's owner made, and a
// file there that has several names. The kernel has these rules for those who open a path (fs.protected_symlinks,
// _regular, _fifos and _hardlinks), where they are on, but not for those who ask where a link leads.
Result<std::string> output_target(const std::string& path);

}  // namespace tacho
