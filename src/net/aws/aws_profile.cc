#include "net/aws/aws_profile.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "os/environment.h"
#include "os/file.h"

namespace tacho {
namespace {

constexpr size_t kProfileLimit = 1u << 20;
constexpr std::pair<const char*, const char*> kFiles[] = {{"AWS_SHARED_CREDENTIALS_FILE", "credentials"},
                                                          {"AWS_CONFIG_FILE", "config"}};

std::string variable_or(const char* name, const std::string& otherwise) {
  std::string text = environment(name);
  return text.empty() ? otherwise : text;
}

std::string file_path(const char* variable, const char* name) {
  const std::string home = variable_or("HOME", "");
  const std::string path = variable_or(variable, home.empty() ? "" : home + "/.aws/" + name);
  // Where no shell has seen the variable, as in a unit file.
  return path.starts_with("~/") && !home.empty() ? home + path.substr(1) : path;
}

std::string file_text(const char* variable, const char* name) {
  const std::string path = file_path(variable, name);
  return path.empty() ? "" : read_whole_file(path, kProfileLimit).value_or("");
}

// "[ profile  build ]", "[profile build]" and [profile "build"] are the same section.
std::string section_name(std::string_view line) {
  const size_t end = line.find(']');
  std::string inside(trim(line.substr(1, end == std::string_view::npos ? end : end - 1))), name;
  std::replace(inside.begin(), inside.end(), '\t', ' ');
  for (const std::string_view word : split(inside, ' ')) {
    if (word.empty()) continue;
    if (!name.empty()) name += ' ';
    name += trim(word);
  }
  if (name.starts_with("profile ") || name.starts_with("sso-session "))
    std::erase_if(name, [](char c) { return c == '"' || c == '\''; });
  return name;
}

// A note stands behind a blank. The words of a command may hold what looks like one.
std::string_view without_note(const std::string& key, std::string_view value) {
  if (key == "credential_process") return value;
  for (size_t at = value.find_first_of("#;"); at != std::string_view::npos; at = value.find_first_of("#;", at + 1))
    if (at > 0 && (value[at - 1] == ' ' || value[at - 1] == '\t')) return trim(value.substr(0, at));
  return value;
}

// Lines as Python's configparser, and so the AWS tools, take them: one that is indented deeper than the setting before
// it goes on with that; otherwise how far it is indented does not matter. `section` gets what stands between brackets;
// `setting` key and value; `bad` a line that is neither, or stands before the first section, with its number.
template <class Section, class Setting, class Bad>
void walk_aws_file(std::string_view text, const Section& section, const Setting& setting, const Bad& bad) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte order mark
  bool has_section = false;
  size_t indent = std::string_view::npos;  // of the setting before; npos: there is none
  int number = 0;
  for (const std::string_view raw : split(text, '\n')) {
    ++number;
    const std::string_view line = trim(raw);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    const size_t here = raw.find_first_not_of(" \t");
    if (here > indent) continue;
    if (line.front() == '[') {
      section(section_name(line));
      has_section = true;
      indent = std::string_view::npos;
      continue;
    }
    const size_t equals = line.find_first_of("=:");
    if (!has_section || equals == std::string_view::npos || equals == 0) {
      bad(number);
      continue;
    }
    indent = here;
    const std::string key = lower(trim(line.substr(0, equals)));
    setting(key, without_note(key, trim(line.substr(equals + 1))));
  }
}

}  // namespace

AwsProfile parse_aws_section(std::string_view text, std::string_view section) {
  AwsProfile profile;
  bool inside = false;
  walk_aws_file(
      text, [&](const std::string& name) { inside = name == section; },
      [&](const std::string& key, std::string_view value) {
        if (inside) profile.insert_or_assign(key, std::string(value));
      },
      [](int) {});
  return profile;
}

Status check_aws_files() {
  for (const auto& [variable, name] : kFiles) {
    const std::string path = file_path(variable, name);
    // A folder that may not be looked into is somebody else's home; a file that is there and may not be read is not the
    // same as none.
    if (path.empty() || !file_exists(path)) continue;
    const auto text = read_whole_file(path, kProfileLimit);
    if (!text && text.error().code == Code::not_available) continue;
    if (!text)
      return Error{Code::invalid, "this AWS file cannot be read", path, "make it readable, or set AWS_ACCESS_KEY_ID"};
    int first_bad = 0;
    walk_aws_file(
        *text, [](const std::string&) {}, [](const std::string&, std::string_view) {},
        [&](int number) { first_bad = first_bad == 0 ? number : first_bad; });
    if (first_bad > 0)
      return Error{Code::invalid, "line " + std::to_string(first_bad) + " of this AWS file makes no sense", path,
                   "write [profile] lines, and KEY = VALUE below them"};
  }
  return ok();
}

std::string aws_setting(const AwsProfile& profile, std::string_view key) {
  const auto found = profile.find(key);
  return found == profile.end() ? "" : found->second;
}

AwsProfile read_aws_config_section(std::string_view section) {
  return parse_aws_section(file_text("AWS_CONFIG_FILE", "config"), section);
}

std::string aws_endpoint(const char* variable) {
  if (environment_on("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")) return {};
  std::string url = variable_or(variable, environment("AWS_ENDPOINT_URL"));
  if (!url.empty()) return url;
  const Result<AwsProfile> profile = read_aws_profile();
  return profile ? aws_setting(*profile, "endpoint_url") : "";
}

std::string unreadable_aws_file() {
  for (const auto& [variable, name] : kFiles) {
    const std::string path = file_path(variable, name);
    if (path.empty()) continue;
    const auto text = read_whole_file(path, kProfileLimit);
    if (!text && (text.error().code != Code::not_available || !environment(variable).empty())) return path;
  }
  return {};
}

std::string aws_profile_variable() { return variable_or("AWS_PROFILE", environment("AWS_DEFAULT_PROFILE")); }

Result<AwsProfile> read_aws_profile() { return read_aws_profile(aws_profile_variable()); }

Result<AwsProfile> read_aws_profile(const std::string& asked) {
  const std::string name = asked.empty() ? "default" : asked;
  const std::string config = file_text("AWS_CONFIG_FILE", "config");
  AwsProfile profile = parse_aws_section(file_text("AWS_SHARED_CREDENTIALS_FILE", "credentials"), name);
  profile.merge(parse_aws_section(config, "profile " + name));
  if (name == "default") profile.merge(parse_aws_section(config, name));
  if (profile.empty() && !asked.empty()) {
    if (const std::string path = unreadable_aws_file(); !path.empty())
      return Error{Code::invalid, "the AWS profile " + asked + " cannot be looked up", path,
                   "make this file readable, or correct the variable that names it"};
    return Error{Code::invalid, "there is no such AWS profile", asked,
                 "correct AWS_PROFILE or source_profile, or add it to ~/.aws/credentials"};
  }
  return profile;
}

}  // namespace tacho
