#include "spool/disk_sync.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <mutex>
#include <utility>

#include "os/clock.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/thread.h"
#include "spool/layout.h"

namespace tacho {
namespace {

constexpr size_t kMostWaiting = 64;
constexpr size_t kThreads = 4;  // a segment, the seals, the description and their folder

struct Request {
  std::string folder;
  std::vector<std::string> files;
};

// A file or folder whose bytes are on their way to the disk.
struct Begun {
  Fd fd;
  std::string path;
  bool is_folder = false;
};

// All are begun before one is waited for: a file system that writes a journal then commits once for all of them.
std::vector<Begun> begin_all(const Request& request) {
  std::vector<Begun> begun;
  for (const std::string& file : request.files) {
    const std::string path = request.folder + "/" + file;
    Fd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (fd) ::sync_file_range(fd.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
    if (fd) begun.push_back({std::move(fd), path});
  }
  Fd folder(::open(request.folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (folder) begun.push_back({std::move(folder), request.folder, true});
  return begun;
}

Status finish(const Begun& begun) {
  if (begun.is_folder) {
    ::fsync(begun.fd.get());  // not every file system knows it of a folder
    return ok();
  }
  if (::fdatasync(begun.fd.get()) == 0) return ok();
  return system_error("cannot make the spool survive a power cut", begun.path, errno);
}

}  // namespace

struct DiskSync::Shared {
  WaitLock wait_lock;
  // Guarded by it.
  std::deque<Request> waiting;
  std::deque<Begun> begun;
  Status refused = ok();
  size_t busy = 0, threads = 0;
  bool stopping = false;

  bool is_idle() const { return waiting.empty() && begun.empty() && busy == 0; }
};

DiskSync::DiskSync() : shared_(std::make_shared<Shared>()) {}

DiskSync::~DiskSync() {
  const std::lock_guard lock(shared_->wait_lock);
  shared_->stopping = true;
  shared_->wait_lock.notify_all();
}

void DiskSync::work(const std::shared_ptr<Shared>& shared) {
  std::unique_lock lock(shared->wait_lock);
  const auto unlocked = [&](auto&& task) {
    ++shared->busy;
    lock.unlock();
    auto result = task();
    lock.lock();
    --shared->busy;
    shared->wait_lock.notify_all();
    return result;
  };
  while (!shared->stopping) {
    if (!shared->begun.empty()) {
      const Begun begun = std::move(shared->begun.front());
      shared->begun.pop_front();
      if (Status status = unlocked([&] { return finish(begun); }); !status) shared->refused = std::move(status);
    } else if (!shared->waiting.empty()) {
      const Request request = std::move(shared->waiting.front());
      shared->waiting.pop_front();
      for (Begun& begun : unlocked([&] { return begin_all(request); })) shared->begun.push_back(std::move(begun));
    } else {
      shared->wait_lock.wait();
    }
  }
}

void DiskSync::request(const std::string& folder, std::vector<std::string> files) {
  files.emplace_back(kSealsName);
  const std::lock_guard lock(shared_->wait_lock);
  while (shared_->threads < kThreads && start_detached_thread("tacho-sync", [shared = shared_] { work(shared); }))
    ++shared_->threads;
  if (shared_->threads == 0) {  // no thread is to be had: better a late tick than a lost segment
    for (const Begun& begun : begin_all({folder, files}))
      if (Status status = finish(begun); !status) shared_->refused = std::move(status);
    return;
  }
  if (shared_->waiting.size() >= kMostWaiting) return;  // a disk that hangs must not fill the memory
  shared_->waiting.push_back({folder, std::move(files)});
  shared_->wait_lock.notify_all();
}

bool DiskSync::wait(int64_t patience_ns) {
  const int64_t deadline_ns = system_clock().monotonic_ns() + patience_ns;
  std::unique_lock lock(shared_->wait_lock);
  while (!shared_->is_idle() && shared_->wait_lock.wait_until(deadline_ns)) {}
  return shared_->is_idle();
}

Status DiskSync::status() {
  const std::lock_guard lock(shared_->wait_lock);
  return std::exchange(shared_->refused, ok());
}

}  // namespace tacho
