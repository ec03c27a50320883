#include "cli/sibling.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "cli/commands.h"
#include "cli/resolve.h"
#include "os/file.h"

namespace tacho {
namespace {

// tacho-deliver reads no configuration file: what is said there about privacy goes to it as variables.
Status hand_over_privacy() {
  const auto settings = resolve({}, kWatch, real_surroundings());
  if (!settings) return settings.error();
  std::string hidden;
  for (const std::string& field : settings->hide) hidden += field + ",";
  ::setenv("TACHO_HIDE", hidden.c_str(), 1);
  if (settings->no_cloud) ::setenv("TACHO_NO_CLOUD", "1", 1);
  return ok();
}

}  // namespace

std::string sibling_path(const std::string& program) {
  const std::string self = read_link("/proc/self/exe");
  return self.substr(0, self.rfind('/') + 1) + program;
}

Error become_deliver(const std::vector<std::string>& words, const std::string& what) {
  const std::string path = sibling_path("tacho-deliver");
  std::vector<std::string> line{path};
  line.insert(line.end(), words.begin(), words.end());
  std::vector<char*> argv;
  for (std::string& word : line) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(path.c_str(), argv.data());
  const int reason = errno;
  Error error = system_error(what + " needs tacho-deliver, which cannot be started", path, reason);
  if (reason == ENOENT) error.hint = "it is not there; install it in the same folder as tacho";
  return error;
}

// Everything that speaks HTTP is in tacho-deliver; it takes tacho's place, with the same words.
int sibling_command(const Call& call) {
  if (call.command.name == "discover")
    if (const Status status = hand_over_privacy(); !status) return refuse(status.error());
  std::vector<std::string> words{std::string(call.command.name)};
  words.insert(words.end(), call.arguments.begin(), call.arguments.end());
  return refuse(become_deliver(words, "tacho " + std::string(call.command.name)));
}

}  // namespace tacho
