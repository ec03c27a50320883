// Where the rows of a run go when its disk takes no more: folders on other disks, named in the run's file `overflow`.
// They belong to one run. A copy of its folder has the same file, so that file also says where the run is ("of PATH"):
// a folder elsewhere, while one is still at PATH, is a copy and follows none of them. Thread-safe (no state).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/owned_folder.h"

namespace tacho {

// The text of the file `overflow` of a run.
std::string overflow_list(const OwnedFolder& run, const std::vector<std::string>& overflows);

// The folder that `run` is a copy of; empty when it is the run itself, even if it was moved.
std::string original_of(const OwnedFolder& run, std::string_view run_name);

// The overflows of the run itself, made or not; none of a copy.
std::vector<std::string> overflows_of(const OwnedFolder& run, std::string_view run_name);

// Their root must be ours, too.
Result<OwnedFolder> open_overflow(const std::string& path);
Result<OwnedFolder> make_overflow(const std::string& path);

}  // namespace tacho
