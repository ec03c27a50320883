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
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  return FileMark{info.st_ino, info.st_mtim.tv_sec * kNsPerSec + info.st_mtim.tv_nsec};
}

}  // namespace

struct CommandWatch::Shared {
  std::vector<std::string> folders;
  Fd inotify{::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)};
  Fd event{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  Monitor monitor;
  bool stopping = false;  // guarded by it
};

CommandWatch::CommandWatch(std::vector<std::string> folders) : shared_(std::make_shared<Shared>()) {
  shared_->folders = std::move(folders);
  start_detached_thread("tacho-rc", [shared = shared_] { work(shared); });
}

CommandWatch::~CommandWatch() {
  const std::lock_guard lock(shared_->monitor);
  shared_->stopping = true;
  shared_->monitor.notify_all();
}

// Folders that inotify took need no more work; the others are looked at, and tried again, once a second.
void CommandWatch::work(const std::shared_ptr<Shared>& shared) {
  struct Place {
    std::string folder;
    std::optional<FileMark> before;
  };
  std::vector<Place> places;
  for (const std::string& folder : shared->folders) places.push_back({folder, mark_of(folder + "/" + std::string(kName))});
  for (;;) {
    std::erase_if(places, [&](const Place& place) {
      constexpr uint32_t kEvents = IN_MOVED_TO | IN_CREATE | IN_ONLYDIR;
      const bool watched = ::inotify_add_watch(shared->inotify.get(), place.folder.c_str(), kEvents) >= 0;
      const auto now = mark_of(place.folder + "/" + std::string(kName));
      const bool appeared = now && now != place.before;
      if (appeared) ::eventfd_write(shared->event.get(), 1);
      return watched || appeared;
    });
    if (places.empty()) return;
    std::unique_lock lock(shared->monitor);
    const int64_t deadline_ns = system_clock().monotonic_ns() + kNsPerSec;
    while (!shared->stopping && shared->monitor.wait_until(deadline_ns)) {
    }
    if (shared->stopping) return;
  }
}

int CommandWatch::inotify_fd() const { return shared_->inotify.get(); }
int CommandWatch::event_fd() const { return shared_->event.get(); }

bool CommandWatch::ended() {
  alignas(inotify_event) char buffer[4096];
  for (ssize_t got; (got = ::read(shared_->inotify.get(), buffer, sizeof buffer)) > 0;) {
    for (ssize_t at = 0; at < got;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
      if (event->len > 0 && event->name == kName) ended_ = true;
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    }
  }
  eventfd_t count = 0;
  if (::eventfd_read(shared_->event.get(), &count) == 0) ended_ = true;
  return ended_;
}

}  // namespace tacho
