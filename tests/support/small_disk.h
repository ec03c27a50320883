// A disk of a few KiB that is gone with the test, where one may mount (root): for tests of what happens when it is
// full.
#pragma once
#include <sys/mount.h>

#include <filesystem>
#include <string>

#include "support/temp_dir.h"

namespace tacho {

class SmallDisk {
 public:
  explicit SmallDisk(const std::string& size) : path_(dir_ / "disk") {
    std::filesystem::create_directory(path_);
    is_mounted_ = ::mount("none", path_.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
  }
  ~SmallDisk() {
    // Lazily, because a failed test may have left a file open.
    if (is_mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool is_mounted() const { return is_mounted_; }
  const std::string& path() const { return path_; }
  void fill(size_t bytes) const { spill(path_ + "/fill", std::string(bytes, 'x')); }
  bool resize(const std::string& size) const {
    return ::mount("none", path_.c_str(), "tmpfs", MS_REMOUNT, ("size=" + size).c_str()) == 0;
  }

 private:
  TempDir dir_;
  std::string path_;
  bool is_mounted_ = false;
};

}  // namespace tacho
