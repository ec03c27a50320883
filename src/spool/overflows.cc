#include "spool/overflows.h"

#include <sys/stat.h>

#include <cerrno>

#include "base/path.h"
#include "base/text.h"
#include "os/file.h"
#include "spool/layout.h"

namespace tacho {
namespace {

constexpr std::string_view kOf = "of ";  // passed over by those that know only lines of paths
constexpr size_t kListLimit = 1 << 16;

// Whether something else than `run` is in that place. What cannot be looked at may be.
bool is_elsewhere(const OwnedFolder& run, const std::string& path) {
  struct stat ours {};
  struct stat there {};
  if (::stat(path.c_str(), &there) != 0) return errno != ENOENT && errno != ENOTDIR;
  return ::fstat(run.fd(), &ours) != 0 || ours.st_dev != there.st_dev || ours.st_ino != there.st_ino;
}

std::string_view recorded_place(std::string_view list) {
  for (const std::string_view line : split(list, '\n'))
    if (line.starts_with(kOf)) return line.substr(kOf.size());
  return {};
}

std::string original_by(const OwnedFolder& run, std::string_view run_name, std::string_view list) {
  if (const std::string place(recorded_place(list)); !place.empty()) return is_elsewhere(run, place) ? place : "";
  // Of an older tacho, which did not write it down: a run of that name in a spool is the one.
  for (const std::string& root : spool_roots()) {
    const std::string place = std::string(root).append("/").append(run_name);
    if (file_exists(place) && is_elsewhere(run, place)) return place;
  }
  return {};
}

}  // namespace

std::string overflow_list(const OwnedFolder& run, const std::vector<std::string>& overflows) {
  std::string list;
  for (const std::string& path : overflows) list.append(path).append("\n");
  // Without links on the way, so that it means the same folder from everywhere.
  const std::string place = read_link("/proc/self/fd/" + std::to_string(run.fd()));
  if (place.starts_with('/')) list.append(kOf).append(place).append("\n");
  return list;
}

std::string original_of(const OwnedFolder& run, std::string_view run_name) {
  const auto list = run.read(kOverflowName, kListLimit);
  return list && is_run_name(run_name) ? original_by(run, run_name, *list) : std::string();
}

std::vector<std::string> overflows_of(const OwnedFolder& run, std::string_view run_name) {
  std::vector<std::string> found;
  const std::string ours = std::string("/").append(run_name).append(kOverflowEnding);
  const auto list = run.read(kOverflowName, kListLimit);
  // Under a name that no run has, a line of a copied folder could mean anybody's.
  if (!list || !is_run_name(run_name) || !original_by(run, run_name, *list).empty()) return found;
  for (const std::string_view line : split(*list, '\n'))
    if (line.starts_with('/') && line.ends_with(ours)) found.emplace_back(line);
  return found;
}

Result<OwnedFolder> open_overflow(const std::string& path) {
  const auto root = OwnedFolder::open(parent_folder(path));
  return root ? root->open_folder(last_part(path)) : root.error();
}

Result<OwnedFolder> make_overflow(const std::string& path) {
  const auto root = OwnedFolder::make(parent_folder(path));
  if (!root) return root.error();
  auto folder = root->open_folder(last_part(path));
  return folder || folder.error().code != Code::not_available ? std::move(folder) : root->make_folder(last_part(path));
}

}  // namespace tacho
