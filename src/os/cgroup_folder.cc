#include "os/cgroup_folder.h"

#include <dirent.h>

#include <vector>

#include "os/file.h"

namespace tacho {
namespace {

void add_folders_below(const std::string& folder, std::vector<std::string>& found) {
  DIR* dir = ::opendir(folder.c_str());
  if (dir == nullptr) return;
  while (const dirent* entry = ::readdir(dir)) {
    const std::string_view name = entry->d_name;
    if (entry->d_type == DT_DIR && name != "." && name != "..") found.push_back(folder + "/" + std::string(name));
  }
  ::closedir(dir);
}

}  // namespace

bool visit_cgroup_procs(const std::string& folder, const std::function<void(std::string_view procs)>& visit) {
  std::vector<std::string> folders = {folder};
  bool readable = false;
  for (size_t i = 0; i < folders.size(); ++i) {
    // One below may have gone meanwhile, or be a threaded one that does not tell: its parent lists its processes.
    if (const auto procs = read_whole_file(folders[i] + "/cgroup.procs")) {
      readable = readable || i == 0;
      visit(*procs);
    }
    add_folders_below(std::string(folders[i]), folders);
  }
  return readable;
}

}  // namespace tacho
