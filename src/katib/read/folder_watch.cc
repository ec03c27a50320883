#include "katib/read/folder_watch.h"

#include <sys/inotify.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/log.h"

namespace tacho {
namespace {

// f_type of statfs(2): NFS, SMB, CIFS, SMB2, FUSE, Ceph, 9p, Lustre, AFS, OCFS2, GFS2, GPFS.
constexpr std::array<unsigned long, 12> kRemote{0x6969,     0x517B,     0xFF534D42, 0xFE534D42, 0x65735546, 0x00C36400,
                                                0x01021997, 0x0BD00BD0, 0x5346414F, 0x7461636F, 0x01161970, 0x47504653};

bool is_remote(const std::string& path) {
  struct statfs info {};
  if (::statfs(path.c_str(), &info) != 0) return false;
  const auto type = static_cast<unsigned long>(info.f_type) & 0xFFFFFFFFul;
  return std::find(kRemote.begin(), kRemote.end(), type) != kRemote.end();
}

}  // namespace

FolderWatch::FolderWatch() : fd_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  if (fd_) return;
  needs_polling_ = true;
  log::warn("the kernel gives no inotify (fs.inotify.max_user_instances); files are polled");
}

bool FolderWatch::follow(const std::vector<std::string>& folders) {
  missing_ = false;
  bool added = false;
  for (const std::string& folder : folders) {
    if (watches_.contains(folder)) continue;
    if (!fd_) continue;
    constexpr uint32_t kEvents = IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_DELETE_SELF |
                                 IN_MOVE_SELF | IN_CLOSE_WRITE;
    const int watch = ::inotify_add_watch(fd_.get(), folder.c_str(), kEvents | IN_ONLYDIR);
    if (watch >= 0) {
      watches_[folder] = watch;
      added = true;
      needs_polling_ = needs_polling_ || is_remote(folder);
    } else if (errno == ENOENT || errno == ENOTDIR) {
      missing_ = true;
    } else {
      needs_polling_ = true;
      log::warn("changes in " + folder + " cannot be watched (" + std::strerror(errno) + "); its files are polled");
    }
  }
  return added;
}

bool FolderWatch::changed() {
  alignas(inotify_event) std::array<char, 65536> buffer;
  bool any = false;
  // Once: whoever writes faster than this reads would keep us here for ever. What is left is told at the next call.
  const ssize_t size = ::read(fd_.get(), buffer.data(), buffer.size());
  for (ssize_t at = 0; at < size;) {
    const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
    const std::string_view name = event->len > 0 ? event->name : "";
    any = any || !name.starts_with(".tacho-");
    if ((event->mask & IN_IGNORED) != 0)
      std::erase_if(watches_, [&](const auto& entry) { return entry.second == event->wd; });
    at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
  }
  return any;
}

}  // namespace tacho
