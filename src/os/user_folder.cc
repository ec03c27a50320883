#include "os/user_folder.h"

#include "os/environment.h"

namespace tacho {
namespace {

std::string named_or_in_home(const char* variable, const char* in_home) {
  if (std::string named = xdg_folder(variable); !named.empty()) return named;
  const std::string home = home_folder();
  return home.empty() ? std::string() : home + in_home;
}

}  // namespace

std::string home_folder() {
  std::string home = environment_or("HOME");
  // What passwd says of users who must not have one.
  return home.starts_with('/') && home != "/nonexistent" ? home : std::string();
}

std::string xdg_folder(const char* variable) {
  std::string folder = environment_or(variable);
  return folder.starts_with('/') ? folder : std::string();
}

std::string state_folder() { return named_or_in_home("XDG_STATE_HOME", "/.local/state"); }

std::string cache_folder() { return named_or_in_home("XDG_CACHE_HOME", "/.cache"); }

}  // namespace tacho
