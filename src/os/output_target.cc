#include "os/output_target.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "os/file.h"

namespace tacho {
namespace {

constexpr int kMostLinks = 40;  // as the kernel follows

// A second name may have been given to any file that is ours (fs.protected_hardlinks).
bool is_planted(const struct stat& entry, const std::string& folder) {
  struct stat info {};
  if (S_ISDIR(entry.st_mode) || ::stat(folder.empty() ? "." : folder.c_str(), &info) != 0) return false;
  const bool everybodys = (info.st_mode & S_ISVTX) != 0 && (info.st_mode & S_IWOTH) != 0;
  const bool is_others = entry.st_uid != ::geteuid() && entry.st_uid != info.st_uid;
  return everybodys && (is_others || (S_ISREG(entry.st_mode) && entry.st_nlink > 1));
}

Error planted(const struct stat& entry, const std::string& path) {
  const char* what = S_ISLNK(entry.st_mode) ? "somebody else's link in a folder of everybody's is not followed"
                     : entry.st_uid != ::geteuid()
                         ? "somebody else's file in a folder of everybody's is left alone"
                         : "a file with several names (hard links) in a folder of everybody's is left alone";
  return {Code::denied, what, path, "choose a folder of your own"};
}

}  // namespace

Result<std::string> output_target(const std::string& path) {
  std::string reached = path.starts_with('/') ? "/" : "", left = path;
  for (int links = 0; !left.empty();) {
    const size_t slash = left.find('/');
    const std::string part = left.substr(0, slash);
    left = slash == std::string::npos ? "" : left.substr(slash + 1);
    if (part.empty()) continue;
    const std::string next = reached.empty() || reached.ends_with('/') ? reached + part : reached + "/" + part;
    struct stat info {};
    const bool is_there = ::lstat(next.c_str(), &info) == 0;
    if (is_there && is_planted(info, reached)) return planted(info, next);
    if (!is_there || !S_ISLNK(info.st_mode)) {
      reached = next;
      continue;
    }
    if (++links > kMostLinks) return system_error("cannot write", path, ELOOP);
    const std::string target = read_link(next);
    if (target.starts_with('/')) reached = "/";
    left = target + "/" + left;
  }
  return reached;
}

}  // namespace tacho
