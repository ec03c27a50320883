#include "os/browser.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <vector>

#include "os/environment.h"
#include "os/file.h"

namespace tacho {
namespace {

// The first of the names in $BROWSER, which are separated by colons.
std::string program() {
  const std::string browser = environment("BROWSER");
  const std::string first = browser.substr(0, browser.find(':'));
  return first.empty() || first.find_first_of(" %") != std::string::npos ? "xdg-open" : first;
}

}  // namespace

Status open_in_browser(const std::string& path) {
  std::array<char, 4097> whole{};
  const std::string target = ::realpath(path.c_str(), whole.data()) != nullptr ? whole.data() : path;
  std::string name = program(), argument = target;
  std::vector<char*> words{name.data(), argument.data(), nullptr};
  std::vector<char*> environment = environment_without(secret_variables());
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    ::posix_spawn_file_actions_addopen(&files, fd, "/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY, 0);
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, name.c_str(), &files, &attributes, words.data(), environment.data());
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  if (error == 0) return ok();
  Error failure = system_error("cannot start a browser", name, error);
  failure.code = Code::io;
  failure.hint = "open it by hand: file://" + target;
  return failure;
}

}  // namespace tacho
