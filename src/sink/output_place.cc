#include "sink/output_place.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/path.h"
#include "os/file.h"
#include "os/output_target.h"

namespace tacho {

std::string path_in(const std::string& destination, std::string_view prefix) {
  return destination.starts_with(prefix) ? destination.substr(prefix.size()) : destination;
}

Status check_place(const std::string& path) {
  if (path == "-") return ok();
  const auto target = output_target(path);
  if (!target) return target.error();
  const std::string folder = parent_folder(*target);
  struct stat info {};
  if (path.empty() || path.ends_with('/') || (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)))
    return Error{Code::invalid, "the output is a folder", path, "name a file"};
  if (is_special_file(path)) {
    if (::access(path.c_str(), W_OK) != 0) return system_error("cannot write", path, errno);
    return ok();
  }
  if (::stat(folder.c_str(), &info) != 0)
    return Error{Code::not_available, "the folder of the output is missing", folder, "make it first"};
  if (::access(folder.c_str(), W_OK | X_OK) != 0) return system_error("cannot write to the folder", folder, errno);
  return ok();
}

bool leads_to_same_place(const std::string& one, const std::string& other) {
  struct stat info {};
  if (::stat(one.c_str(), &info) == 0) return !S_ISCHR(info.st_mode) && same_file(one, other);
  const std::string first = output_target(one).value_or(one), second = output_target(other).value_or(other);
  return last_part(first) == last_part(second) && same_file(parent_folder(first), parent_folder(second));
}

}  // namespace tacho
