// Tells when something in a set of folders changed, by inotify. Where that is refused, or where the file system is a
// remote one whose other writers the kernel does not see (NFS, FUSE …), needs_polling() says so. Not thread-safe.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "os/fd.h"

namespace tacho {

class FolderWatch {
 public:
  FolderWatch();
  // Watches these too; folders that are not there yet are tried again at the next call. True: a new one is watched from
  // now on, and may have changed before.
  bool follow(const std::vector<std::string>& folders);
  int fd() const { return fd_.get(); }
  bool needs_polling() const { return needs_polling_ || missing_; }
  bool missing() const { return missing_; }  // some folder is not there yet
  // Takes the queued events; true when something other than tacho's own files changed.
  bool changed();

 private:
  Fd fd_;
  std::map<std::string, int, std::less<>> watches_;
  bool needs_polling_ = false, missing_ = false;
};

}  // namespace tacho
