// Finds the log that came after a rotated one, when more than one rotation happened between two looks. Rotation renames
// NAME to NAME.1 (or NAME-20261115), NAME.1 to NAME.2 and so on; their order is that of their birth times (statx, Linux
// 4.11); where a file system keeps none, nothing is found. Thread-safe.
#pragma once
#include <optional>
#include <string>

namespace tacho {

// The path of the oldest rotated log of the name `path` that was made after the open file `fd`, which has lost that
// name. Nothing when the file that has the name now is the next one.
std::optional<std::string> rotated_after(int fd, const std::string& path);

}  // namespace tacho
