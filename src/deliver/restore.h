// Restores a spool segment that was damaged or removed, from the rows of the same run in the run store. Not
// thread-safe.
#pragma once
#include <string>

#include "spool/reader.h"

namespace tacho {

// False, and nothing is changed, unless the seal's checksum proves that the bytes are the same. `store_folder` may be
// empty.
bool restore_segment(const SpoolRun& run, const Segment& segment, const std::string& store_folder);

}  // namespace tacho
