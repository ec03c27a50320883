// The programs of tacho by their names, and where they stand: in one folder, next to the one that runs. Thread-safe.
#pragma once
#include <string>
#include <vector>

namespace tacho {

inline constexpr char kAgentName[] = "tacho", kDelivererName[] = "tacho-deliver", kQueryName[] = "tacho-query",
                      kGpuReaderName[] = "tacho-gpu", kKatibName[] = "tacho-katib", kKubeName[] = "tacho-kube",
                      kLauncherName[] = "tacho-katib-exec";

// The file of the program that runs, without links.
std::string own_program();
bool is_own_program(const std::string& path);
// The path of a program in the folder of the running executable, wherever that was called from.
std::string sibling_path(const std::string& program);
// The same for an executable that is known. Where it is not (no /proc) it is the root's: never a name that the current
// folder answers.
std::string sibling_of(const std::string& executable, const std::string& program);

// The program takes the place of this process, with these words behind its name. Comes back only when that cannot be:
// errno.
int become_sibling(const std::string& program, const std::vector<std::string>& words);

}  // namespace tacho
