// Programs that stand next to this one: tacho-deliver, tacho-katib, tacho-kube, tacho-katib-exec. Thread-safe.
#pragma once
#include <string>
#include <vector>

namespace tacho {

// The path of a program in the folder of the running executable, wherever that was called from.
std::string sibling_path(const std::string& program);

// The program takes the place of this process, with these words behind its name. Comes back only when that cannot be: errno.
int become_sibling(const std::string& program, const std::vector<std::string>& words);

}  // namespace tacho
