#include "spool/layout.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/bytes.h"
#include "base/text.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/owned_folder.h"
#include "os/unique.h"
#include "os/user_folder.h"

namespace tacho {
namespace {

bool is_made_of(std::string_view text, std::string_view letters) {
  return !text.empty() && text.find_first_not_of(letters) == std::string_view::npos;
}

constexpr std::string_view kDigits = "0123456789";

}  // namespace

std::string private_root(std::string folder) {
  struct stat info {};
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  if (::lstat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return folder;
  if (info.st_uid == ::geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0) return folder;
  return folder + "/tacho-" + std::to_string(::getuid());
}

bool is_run_name(std::string_view name) {
  if (name.size() < 20 || name[8] != 'T' || name[15] != 'Z' || name[16] != '-' ||
      name.find('.') != std::string_view::npos)
    return false;
  const size_t dash = name.find('-', 17);
  return dash != std::string_view::npos && name.size() - dash - 1 == kRunNameHex &&
         is_made_of(name.substr(0, 8), kDigits) && is_made_of(name.substr(9, 6), kDigits) &&
         is_made_of(name.substr(17, dash - 17), kDigits) && is_made_of(name.substr(dash + 1), "0123456789abcdef");
}

bool is_spool_file(std::string_view name) {
  for (const std::string_view known : {kLockName, kMetaName, kStateName, kSealsName, kOverflowName})
    if (name == known) return true;
  for (const std::string_view ending : {kSealedEnding, kRecordsEnding, kOpenEnding})
    if (segment_number(name, ending)) return true;
  const std::string_view whole = without_temporary_ending(name);
  return !whole.empty() && is_spool_file(whole);
}

SpoolLimit spool_limit(std::string_view instead) {
  const std::string text = environment("TACHO_SPOOL_MAX");
  if (text.empty()) return {};
  if (const auto bytes = parse_bytes(text)) return {bytes, ""};
  return {{},
          "TACHO_SPOOL_MAX is no size: " + valid_utf8(text) + "; write bytes, or 500M or 2G. " + std::string(instead)};
}

std::vector<std::string> spool_roots() {
  std::vector<std::string> roots;
  const auto add = [&](std::string root) {
    while (root.size() > 1 && root.back() == '/') root.pop_back();
    if (!root.empty() && std::find(roots.begin(), roots.end(), root) == roots.end()) roots.push_back(std::move(root));
  };
  const std::string user = std::to_string(::getuid());
  add(private_root(environment_or("TACHO_SPOOL_DIR")));
  if (const std::string state = xdg_folder("XDG_STATE_HOME"); !state.empty()) add(state + "/tacho/spool");
  if (const std::string home = home_folder(); !home.empty()) add(home + "/.local/state/tacho/spool");
  // /tmp is often the one place that a read-only container may write to.
  for (const char* place : {"/var/tmp", "/tmp", "/dev/shm"})
    for (std::string& root : roots_in(place, "tacho-" + user)) add(std::move(root));
  return roots;
}

std::vector<std::string> roots_in(const std::string& place, const std::string& name) {
  std::vector<std::string> roots{place + "/" + name};
  const auto usual = OwnedFolder::open(roots[0]);
  if (usual || usual.error().code != Code::denied) return roots;
  // Somebody was first: another name, which nobody can know, or has not known.
  list_directory(place, [&](std::string_view entry) {
    const std::string path = place + "/" + std::string(entry);
    if (entry.starts_with(name + "-") && OwnedFolder::open(path)) roots.push_back(path);
  });
  if (roots.size() == 1) roots.push_back(roots[0] + "-" + random_hex(16));
  return roots;
}

std::string segment_name(uint32_t number, std::string_view ending) {
  char digits[16];
  std::snprintf(digits, sizeof digits, "%06u", number);
  return digits + std::string(ending);
}

std::optional<uint32_t> segment_number(std::string_view name, std::string_view ending) {
  if (!name.ends_with(ending) || name.size() < 6 + ending.size()) return std::nullopt;
  const std::string_view digits = name.substr(0, name.size() - ending.size());
  const auto number = is_made_of(digits, kDigits) ? parse_int<uint32_t>(digits) : std::nullopt;
  return number && segment_name(*number, ending) == name ? number : std::nullopt;
}

}  // namespace tacho
