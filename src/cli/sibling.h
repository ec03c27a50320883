// Programs that stand next to tacho: tacho-deliver, tacho-katib.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"

namespace tacho {

// The path of a program in the folder of the running executable (/proc/self/exe).
std::string sibling_path(const std::string& program);

// tacho-deliver, with these words, takes the place of this process. Comes back only to say why it could not; `what` is what
// the person asked for.
Error become_deliver(const std::vector<std::string>& words, const std::string& what);

}  // namespace tacho
