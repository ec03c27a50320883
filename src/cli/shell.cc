#include "cli/shell.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/commands.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/sibling.h"

namespace tacho {
namespace {

bool is_real_program(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || ::access(path.c_str(), X_OK) != 0) return false;
  // Of another installation too, also where scripts stand for its links: two that take each other for the shell would
  // never get to one.
  const std::string real = real_path(path);
  return last_part(real) != "tacho" && !parent_folder(real).ends_with("/libexec/tacho/shell") && !is_own_program(path);
}

}  // namespace

std::string_view real_shell_name(std::string_view program) {
  if (program.starts_with('-')) program.remove_prefix(1);
  if (program == "tacho-bash" || program == "bash") return "bash";
  if (program == "tacho-sh" || program == "sh") return "sh";
  return {};
}

std::string find_real_shell(std::string_view name, const std::string& path) {
  for (const std::string_view folder : split(path, ':')) {
    std::string candidate = (folder.empty() ? "." : std::string(folder)) + "/" + std::string(name);
    if (is_real_program(candidate)) return candidate;
  }
  for (const char* const folder : {"/bin/", "/usr/bin/"})
    if (std::string candidate = folder + std::string(name); is_real_program(candidate)) return candidate;
  return {};
}

int shell_program(const Invocation& call) {
  const std::string_view name = real_shell_name(call.command.name);
  const std::string shell = find_real_shell(name, environment_raw("PATH").value_or("/bin:/usr/bin"));
  if (shell.empty()) {
    log::error("there is no " + std::string(name) +
               " in PATH, /bin or /usr/bin; install it, or name its folder in PATH");
    return kNotFound;
  }
  std::vector<std::string> words{"-q", "--nested", "pass", "--fail-open", "--", shell};
  if (call.command.name.starts_with('-')) words.emplace_back("-l");  // how login says that it is one
  words.insert(words.end(), call.arguments.begin(), call.arguments.end());
  return run_command({call.command, call.commands, words});
}

}  // namespace tacho
