#include "cli/sibling.h"

#include <unistd.h>

#include <cerrno>

#include "cli/commands.h"
#include "os/file.h"

namespace tacho {

std::string sibling_path(const std::string& program) {
  const std::string self = read_link("/proc/self/exe");
  return self.substr(0, self.rfind('/') + 1) + program;
}

// Everything that speaks HTTP is in tacho-deliver; it takes tacho's place, with the same words.
int sibling_command(const Call& call) {
  const std::string path = sibling_path("tacho-deliver");
  std::vector<std::string> words{path, std::string(call.command.name)};
  words.insert(words.end(), call.arguments.begin(), call.arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(path.c_str(), argv.data());
  const int reason = errno;
  const std::string what = "tacho " + std::string(call.command.name) + " needs tacho-deliver, which cannot be started";
  Error error = system_error(what, path, reason);
  if (reason == ENOENT) error.hint = "it is not there; install it in the same folder as tacho";
  return refuse(error);
}

}  // namespace tacho
