// A spool segment that is damaged or was removed again whole, from the rows that the run store has of the same run. Not
// thread-safe.
#pragma once
#include <string>

#include "spool/reader.h"

namespace tacho {

// False, and nothing is changed, unless the checksum of the seal says that they are the very bytes. `store_folder` may
// be empty.
bool restore_segment(const SpoolRun& run, const Segment& segment, const std::string& store_folder);

}  // namespace tacho
