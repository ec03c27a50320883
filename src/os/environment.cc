#include "os/environment.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/text.h"

namespace tacho {

std::optional<std::string> environment_raw(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  return value;
}

std::string_view environment_in_place(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : std::string_view();
}

std::string environment(const char* name) { return std::string(trim(environment_in_place(name))); }

bool environment_on(const char* name) { return parse_bool(environment(name)).value_or(false); }

std::string environment_or(const char* name, std::string_view otherwise) {
  const std::string_view value = environment_in_place(name);
  return std::string(value.empty() ? otherwise : value);
}

bool locale_is_ascii() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string locale = lower(environment_in_place(name));
    if (!locale.empty()) return locale.find("utf-8") == std::string::npos && locale.find("utf8") == std::string::npos;
  }
  return false;
}

std::string in_locale(std::string text) { return locale_is_ascii() ? ascii_text(text) : text; }

void wipe_environment(const char* name) {
  if (char* value = std::getenv(name); value != nullptr) ::explicit_bzero(value, std::strlen(value));
  ::unsetenv(name);
}

std::vector<char*> environment_without(const std::vector<std::string>& names) {
  std::vector<char*> kept;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (std::find(names.begin(), names.end(), name) == names.end()) kept.push_back(*entry);
  }
  kept.push_back(nullptr);
  return kept;
}

}  // namespace tacho
