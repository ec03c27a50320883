// The only file that includes toml++ (header-only, compiled slowly, MIT): a TOML reader of our own would be larger than
// all the rest of this folder.
#include "cli/config.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "base/toml.h"
#include "cli/concat.h"
#include "cli/parse.h"
#include "os/fd.h"
#include "os/file.h"

namespace tacho {
namespace {

// Keys of the older tool, by their path.
struct KeyAlias {
  std::string_view path, option;
};
constexpr std::array<KeyAlias, 3> kTrackerKeys{
    {{"job.name", "job-name"}, {"job.pid", "pid"}, {"tracker.interval_secs", "interval"}}};
constexpr std::array<std::string_view, 3> kSections{"metadata", "job", "tracker"};

constexpr size_t kLargestConfig = size_t{1} << 20;

std::string normal(std::string_view key) {
  std::string name(key);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

const Option* option_of(std::string_view path, ConfigRules rules) {
  for (const KeyAlias& alias : kTrackerKeys)
    if (alias.path == path) return find_option(alias.option);
  if (rules == ConfigRules::tracker) return nullptr;
  const bool metadata = path.starts_with("metadata.");
  if (metadata) path.remove_prefix(std::string_view("metadata.").size());
  for (const Option& option : all_options())
    if (!option.key.empty() && (option.key == path || normal(option.name) == path))
      return !metadata || option.group == Group::metadata ? &option : nullptr;
  return nullptr;
}

std::vector<std::string> known_paths() {
  std::vector<std::string> paths(kSections.begin(), kSections.end());
  for (const Option& option : all_options()) {
    if (option.key.empty()) continue;
    paths.emplace_back(option.key);
    if (option.group == Group::metadata) paths.push_back("metadata." + std::string(option.key));
  }
  for (const KeyAlias& alias : kTrackerKeys) paths.emplace_back(alias.path);
  return paths;
}

std::string number_text(double value) {
  std::array<char, 400> digits{};
  const auto [end, error] =
      std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::fixed);
  return error == std::errc{} && std::isfinite(value) ? std::string(digits.data(), end) : "nan";
}

std::string_view type_name(const toml::node& node) {
  if (node.is_string()) return "a string";
  if (node.is_boolean()) return "a boolean";
  if (node.is_integer()) return "an integer";
  if (node.is_floating_point()) return "a number";
  if (node.is_array()) return "an array";
  return node.is_table() ? "a table" : "a date or time";
}

std::string_view expected(const Option& option) {
  if (option.name == "tag") return "an array of \"key=value\" strings or a table";
  switch (option.kind) {
    case Kind::flag: return "true or false";
    case Kind::duration: return "a number of seconds or a string such as \"250ms\"";
    case Kind::integer: return "an integer";
    case Kind::list:
    case Kind::comma_list: return "a string or an array of strings";
    case Kind::text:
    case Kind::word: break;
  }
  return "a string";
}

class Reader {
 public:
  Reader(std::string path, ConfigRules rules) : path_(std::move(path)), rules_(rules) {}

  Status read(const toml::table& table, const std::string& section) {
    for (const auto& [key, node] : table) {
      const std::string name = section + normal(key.str());
      const Option* option = option_of(name, rules_);
      Status status = ok();
      if (option != nullptr) {
        status = take(*option, name, node);
      } else if (section.empty() && node.is_table() && std::count(kSections.begin(), kSections.end(), name) > 0) {
        status = read(*node.as_table(), name + ".");
      } else if (rules_ == ConfigRules::strict) {
        status = unknown_key(name, key.source().begin.line);
      }
      if (!status) return status;
    }
    return ok();
  }

  std::vector<Given> given;

 private:
  Status unknown_key(const std::string& name, uint32_t line) const {
    const std::vector<std::string> paths = known_paths();
    const std::vector<std::string_view> candidates(paths.begin(), paths.end());
    Error error = unknown_word("key", name, candidates, "keys are the long option names; see tacho run --help");
    error.what = path_ + ":" + std::to_string(line) + ": " + error.what;
    return error;
  }

  Status take(const Option& option, const std::string& name, const toml::node& node) {
    const std::string origin = path_ + ":" + std::to_string(node.source().begin.line) + ": " + name;
    for (const Given& other : given)
      if (other.option == &option)
        return Error{Code::invalid, origin + ": given twice", "", "it is also at " + other.origin};
    const size_t before = given.size();
    const bool fits = option.kind == Kind::list || option.kind == Kind::comma_list ? take_list(option, origin, node)
                                                                                   : take_one(option, origin, node);
    if (fits) return ok();
    given.resize(before);
    return Error{Code::invalid, concat({origin, ": expected ", expected(option), ", not ", type_name(node)}), "", ""};
  }

  bool take_one(const Option& option, const std::string& origin, const toml::node& node) {
    const Kind kind = option.kind;
    if (const auto* text = node.as_string(); text != nullptr && kind != Kind::flag && kind != Kind::integer)
      return add(option, text->get(), origin);
    if (const auto* flag = node.as_boolean(); flag != nullptr && kind == Kind::flag)
      return add(option, flag->get() ? "true" : "false", origin);
    // --progress takes a word or a duration, --processes a word or a number.
    const bool number = kind == Kind::duration || option.name == "progress";
    const bool whole_number = number || kind == Kind::integer || option.name == "processes";
    if (const auto* whole = node.as_integer(); whole != nullptr && whole_number)
      return add(option, std::to_string(whole->get()), origin);
    if (const auto* real = node.as_floating_point(); real != nullptr && number)
      return add(option, number_text(real->get()), origin);
    return false;
  }

  bool take_list(const Option& option, const std::string& origin, const toml::node& node) {
    if (const auto* text = node.as_string()) {
      if (option.kind == Kind::list) return add(option, text->get(), origin);
      for (const std::string_view item : split(text->get(), ',')) add(option, std::string(trim(item)), origin);
      return true;
    }
    if (const auto* array = node.as_array()) {
      for (const toml::node& item : *array) {
        const auto* text = item.as_string();
        if (text == nullptr) return false;
        add(option, text->get(), origin);
      }
      return true;
    }
    return option.name == "tag" && node.is_table() && take_tags(option, origin, *node.as_table());
  }

  bool take_tags(const Option& option, const std::string& origin, const toml::table& table) {
    for (const auto& [key, node] : table) {
      const std::string name = std::string(key.str()) + "=";
      if (const auto* text = node.as_string()) add(option, name + text->get(), origin);
      else if (const auto* whole = node.as_integer()) add(option, name + std::to_string(whole->get()), origin);
      else if (const auto* real = node.as_floating_point()) add(option, name + number_text(real->get()), origin);
      else if (const auto* flag = node.as_boolean()) add(option, name + (flag->get() ? "true" : "false"), origin);
      else return false;
    }
    return true;
  }

  bool add(const Option& option, std::string value, const std::string& origin) {
    given.push_back({&option, std::move(value), origin});
    return true;
  }

  std::string path_;
  ConfigRules rules_;
};

}  // namespace

Result<std::vector<Given>> parse_config(std::string_view text, const std::string& path, ConfigRules rules) {
  const toml::parse_result result = toml::parse(text, path);
  if (!result)
    return Error{Code::invalid,
                 path + ":" + std::to_string(result.error().source().begin.line) +
                     ": not valid TOML: " + std::string(result.error().description()),
                 "", ""};
  Reader reader(path, rules);
  if (const Status status = reader.read(result.table(), ""); !status) return status.error();
  return std::move(reader.given);
}

bool names_a_place(const Option& option) { return option.name == "output" || option.name == "store"; }

Result<std::string> read_config_here(const std::string& name) {
  const auto refuse = [&](const char* why) { return Error{Code::denied, "not obeyed", "./" + name, why}; };
  const auto is_ours = [](const struct stat& info) { return info.st_uid == ::geteuid() || info.st_uid == 0; };
  const auto is_closed = [](const struct stat& info) { return (info.st_mode & (S_IWGRP | S_IWOTH)) == 0; };
  const Fd folder(::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // A pipe must not make us wait.
  const Fd file(::openat(folder.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat here {};
  struct stat info {};
  if (!file) return system_error("cannot read", name, errno);
  if (::fstat(folder.get(), &here) != 0 || ::fstat(file.get(), &info) != 0)
    return system_error("cannot read", name, errno);
  if (!S_ISREG(info.st_mode)) return refuse("it is not a plain file");
  if (!is_ours(info)) return refuse("it belongs to another user");
  if (!is_ours(here)) return refuse("its folder belongs to another user");
  if (!is_closed(info)) return refuse("others may write to it");
  if (!is_closed(here)) return refuse("others may write to its folder");
  return read_whole_file("/proc/self/fd/" + std::to_string(file.get()), kLargestConfig);
}

Result<std::string> read_found_config(const std::string& path, bool& may_name_places) {
  const Result<Fd> file = open_regular_file(path);
  if (!file) return file.error();
  struct stat info {};
  may_name_places = ::fstat(file->get(), &info) == 0 && (info.st_uid == ::geteuid() || info.st_uid == 0) &&
                    (info.st_mode & S_IWOTH) == 0;
  ReadBuffer buffer;
  std::string_view text;
  if (!buffer.read(file->get(), text)) return system_error("cannot read", path, errno);
  return std::string(text);
}

std::string find_config(const Environment& environment) {
  std::string user = environment("XDG_CONFIG_HOME");
  if (user.empty() && !environment("HOME").empty()) user = environment("HOME") + "/.config";
  std::vector<std::string> places{"tacho.toml"};
  if (!user.empty()) places.push_back(user + "/tacho/tacho.toml");
  places.push_back(Roots::from_environment().etc + "/tacho/tacho.toml");
  for (const std::string& place : places) {
    if (!file_exists(place)) continue;
    if (place != places[0]) return place;
    const auto text = read_config_here(place);
    if (text || text.error().code != Code::denied) return place;
    static bool told = false;
    if (!std::exchange(told, true))
      log::warn(text.error().message() + "; name it with -c " + place + " if it is meant");
  }
  return {};
}

}  // namespace tacho
