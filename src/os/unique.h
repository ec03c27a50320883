// Making something that nobody else has: a folder that is new, and random digits for its name. Thread-safe.
#pragma once
#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace tacho {

// True when this call made it, false when something of that name is there already.
Result<bool> make_new_directory(const std::string& path, mode_t mode = 0700);

// Lower-case hexadecimal digits from getrandom (Linux 3.17), at most 16. Not for secrets.
std::string random_hex(size_t digits);

}  // namespace tacho
