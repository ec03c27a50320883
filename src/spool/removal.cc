// The end of a run in the spool: what the spool made of it goes, and nothing else does.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "spool/overflows.h"
#include "spool/reader.h"

namespace tacho {
namespace {

constexpr time_t kSurelyOld_s = 600;

bool has_strangers(const OwnedFolder& folder) {
  bool found = false;
  folder.list([&](std::string_view name) { found = found || !is_spool_file(name) || !folder.has_file(name); });
  return found;
}

// The files that the spool made. What tells how far a run came goes last: whoever is killed here leaves a run that is
// done.
void remove_files(const OwnedFolder& folder) {
  std::vector<std::string> names;
  folder.list([&](std::string_view name) {
    if (is_spool_file(name)) names.emplace_back(name);
  });
  const auto rank = [](std::string_view name) {
    return name == kLockName ? 4 : name == kStateName ? 3 : name == kMetaName ? 2 : name == kOverflowName ? 1 : 0;
  };
  std::stable_sort(names.begin(), names.end(),
                   [&](const std::string& a, const std::string& b) { return rank(a) < rank(b); });
  for (const std::string& name : names) folder.remove_file(name);
}

void remove_overflows(const OwnedFolder& folder, std::string_view run_name) {
  for (const std::string& path : overflows_of(folder, run_name)) {
    const auto root = OwnedFolder::open(parent_folder(path));
    const auto overflow = root ? root->open_folder(last_part(path)) : Result<OwnedFolder>(root.error());
    if (!overflow) continue;
    remove_files(*overflow);
    root->remove_folder(last_part(path));
  }
}

}  // namespace

// The name goes first and at once: nobody takes half a run for a whole one, whenever this is killed. Only where all of
// it is ours: somebody else's file must not move.
std::string SpoolRun::remove() {
  const auto folder = main();
  if (!folder) return {};
  const std::string name = this->name(), hidden = std::string(kDeliveredMark) + name;
  const bool renamed = root_ && is_run_name(name) && !has_strangers(**folder) && root_.rename_folder(name, hidden);
  remove_overflows(**folder, name);
  remove_files(**folder);
  bool gone = false;
  if (!root_) gone = ::rmdir(folder_.c_str()) == 0;
  else if (renamed) gone = root_.remove_folder(hidden);
  else gone = root_.holds(name, **folder) && root_.remove_folder(name);
  // Somebody put a file there in this very moment: it goes back to where it was put.
  if (!gone && renamed) root_.rename_folder(hidden, name);
  lock_.reset();
  return gone ? std::string() : folder_;
}

std::vector<std::string> sweep_delivered(const std::string& root) {
  std::vector<std::string> names, kept;
  const auto open = OwnedFolder::open(root);
  if (!open) return kept;
  open->list([&](std::string_view name) {
    if (name.starts_with(kDeliveredMark) && is_run_name(name.substr(kDeliveredMark.size()))) names.emplace_back(name);
    // Killed before it had a file. A new one is empty only for a moment.
    struct stat info {};
    if (is_run_name(name) && ::fstatat(open->fd(), std::string(name).c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        ::time(nullptr) - info.st_mtime > kSurelyOld_s)
      open->remove_folder(name);
  });
  for (const std::string& name : names) {
    const auto folder = open->open_folder(name);
    if (!folder) continue;
    // Whoever is removing it right now holds the lock.
    const auto lock = folder->open_file(kLockName, O_RDWR);
    if (lock ? ::flock(lock->get(), LOCK_EX | LOCK_NB) != 0 : lock.error().code != Code::not_available) continue;
    remove_overflows(*folder, std::string_view(name).substr(kDeliveredMark.size()));
    remove_files(*folder);
    if (!open->remove_folder(name)) kept.push_back(open->path_of(name));
  }
  return kept;
}

}  // namespace tacho
