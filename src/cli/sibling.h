// Programs that stand next to tacho: tacho-deliver, tacho-katib.
#pragma once
#include <string>

namespace tacho {

// The path of a program in the folder of the running executable (/proc/self/exe).
std::string sibling_path(const std::string& program);

}  // namespace tacho
