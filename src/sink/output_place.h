// Where an output that is a file of another tool goes. Thread-safe (no state).
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace tacho {

// The path behind "nextflow:", or all of it.
std::string path_in(const std::string& destination, std::string_view prefix);
// Whether a file can be made there; "-" is stdout.
Status check_place(const std::string& path);
// Whether what is written to both would be mixed up: one file, one pipe, or a file that is not there yet.
bool leads_to_same_place(const std::string& one, const std::string& other);

}  // namespace tacho
