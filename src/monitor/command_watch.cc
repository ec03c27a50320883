#include "monitor/command_watch.h"

#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <optional>

#include "base/units.h"
#include "os/clock.h"
#include "os/thread.h"
#include "os/timespec.h"

namespace tacho {
namespace {

constexpr std::string_view kName = "rc";

// Which file lies there now.
struct FileMark {
  ino_t inode = 0;
  int64_t changed_ns = 0;
  bool operator==(const FileMark&) const = default;
};

std::optional<FileMark> mark_of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  return FileMark{info.st_ino, as_ns(info.st_mtim)};
}

}  // namespace

struct CommandWatch::Shared {
  struct Place {
    std::string folder;
    std::optional<FileMark> before;  // what lay there at the beginning
    bool watched = false;
  };
  std::vector<Place> places;  // the worker's alone
  Fd inotify{::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)};
  Fd event{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  WaitLock wait_lock;
  bool stopping = false, look_again = false;  // guarded by it
};

CommandWatch::CommandWatch(std::vector<std::string> folders) : shared_(std::make_shared<Shared>()) {
  for (std::string& folder : folders) shared_->places.push_back({std::move(folder), {}, false});
  start_detached_thread("tacho-rc", [shared = shared_] { work(shared); });
}

CommandWatch::~CommandWatch() {
  const std::lock_guard lock(shared_->wait_lock);
  shared_->stopping = true;
  shared_->wait_lock.notify_all();
}

// Folders that inotify took are looked at again only when it says that it lost something; the others, and those whose
// watch is gone, once a second. Never ends before the owner does: what was lost must be looked for, and a folder may
// hang.
void CommandWatch::work(const std::shared_ptr<Shared>& shared) {
  constexpr uint32_t kEvents = IN_MOVED_TO | IN_CREATE | IN_ONLYDIR;
  for (auto& place : shared->places) place.before = mark_of(place.folder + "/" + std::string(kName));
  for (;;) {
    for (auto& place : shared->places) {
      place.watched = ::inotify_add_watch(shared->inotify.get(), place.folder.c_str(), kEvents) >= 0;
      const auto now = mark_of(place.folder + "/" + std::string(kName));
      if (!now || now == place.before) continue;
      ::eventfd_write(shared->event.get(), 1);
      return;
    }
    const bool all_watched =
        std::all_of(shared->places.begin(), shared->places.end(), [](const auto& place) { return place.watched; });
    std::unique_lock lock(shared->wait_lock);
    const int64_t deadline_ns = system_clock().monotonic_ns() + kNsPerSec;
    while (!shared->stopping && !shared->look_again) {
      if (all_watched) shared->wait_lock.wait();
      else if (!shared->wait_lock.wait_until(deadline_ns)) break;
    }
    if (shared->stopping) return;
    shared->look_again = false;
  }
}

int CommandWatch::inotify_fd() const { return shared_->inotify.get(); }
int CommandWatch::event_fd() const { return shared_->event.get(); }

bool CommandWatch::ended() {
  alignas(inotify_event) char buffer[4096];
  bool lost = false;
  for (ssize_t got; (got = ::read(shared_->inotify.get(), buffer, sizeof buffer)) > 0;) {
    for (ssize_t at = 0; at < got;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
      // More files than the kernel's queue holds, or the folder itself is gone: what happened meanwhile is not told.
      if ((event->mask & (IN_Q_OVERFLOW | IN_IGNORED | IN_UNMOUNT)) != 0) lost = true;
      else if (event->len > 0 && event->name == kName) ended_ = true;
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    }
  }
  if (lost && !ended_) {
    const std::lock_guard lock(shared_->wait_lock);
    shared_->look_again = true;
    shared_->wait_lock.notify_all();
  }
  eventfd_t count = 0;
  if (::eventfd_read(shared_->event.get(), &count) == 0) ended_ = true;
  return ended_;
}

}  // namespace tacho
