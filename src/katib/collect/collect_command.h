// `tacho-katib collect`, also under the names of the older collectors.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "katib/collect/collect_options.h"

namespace tacho {

int collect_command(std::span<const std::string> arguments, CalledAs called_as);

std::string collect_help();
// The cause of an end other than success: on stderr as the last line, and where Kubernetes looks for it.
void tell_cause(std::string_view cause, const std::string& termination_log = "/dev/termination-log");
// Copies the launcher beside this program into the folder, as FOLDER/exec.
Status install_launcher(const std::string& program, const std::string& folder);

}  // namespace tacho
