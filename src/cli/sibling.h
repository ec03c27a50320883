// The subcommands that are tacho-deliver's.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"

namespace tacho {

// tacho-deliver, with these words, takes the place of this process. Comes back only to say why it could not; `what` is
// what the person asked for.
Error become_deliver(const std::vector<std::string>& words, const std::string& what);

}  // namespace tacho
