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
#include "spool/writer.h"

namespace tacho {
namespace {

constexpr size_t kMostWaiting = 64;

struct Request {
  std::string folder, file;
};

Status sync_file(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (fd && ::fdatasync(fd.get()) != 0) return system_error("cannot make the spool survive a power cut", path, errno);
  return ok();
}

Status sync(const Request& request) {
  const Status file = sync_file(request.folder + "/" + request.file);
  const Status seals = sync_file(request.folder + "/" + std::string(kSealsName));
  sync_folder(request.folder);
  return file ? seals : file;
}

}  // namespace

struct DiskSync::Shared {
  WaitLock wait_lock;
  // Guarded by it.
  std::deque<Request> waiting;
  Status refused = ok();
  bool busy = false, started = false, stopping = false;
};

DiskSync::DiskSync() : shared_(std::make_shared<Shared>()) {}

DiskSync::~DiskSync() {
  const std::lock_guard lock(shared_->wait_lock);
  shared_->stopping = true;
  shared_->wait_lock.notify_all();
}

void DiskSync::work(const std::shared_ptr<Shared>& shared) {
  std::unique_lock lock(shared->wait_lock);
  while (!shared->stopping) {
    if (shared->waiting.empty()) {
      shared->wait_lock.wait();
      continue;
    }
    const Request request = std::move(shared->waiting.front());
    shared->waiting.pop_front();
    shared->busy = true;
    lock.unlock();
    Status status = sync(request);
    lock.lock();
    if (!status) shared->refused = std::move(status);
    shared->busy = false;
    shared->wait_lock.notify_all();
  }
}

void DiskSync::request(const std::string& folder, const std::string& file) {
  const std::lock_guard lock(shared_->wait_lock);
  if (!shared_->started) shared_->started = start_detached_thread("tacho-sync", [shared = shared_] { work(shared); });
  if (!shared_->started) {  // no thread is to be had: better a late tick than a lost segment
    if (Status status = sync({folder, file}); !status) shared_->refused = std::move(status);
    return;
  }
  if (shared_->waiting.size() >= kMostWaiting) return;  // a disk that hangs must not fill the memory
  shared_->waiting.push_back({folder, file});
  shared_->wait_lock.notify_all();
}

bool DiskSync::wait(int64_t patience_ns) {
  const int64_t deadline_ns = system_clock().monotonic_ns() + patience_ns;
  std::unique_lock lock(shared_->wait_lock);
  const auto done = [&] { return shared_->waiting.empty() && !shared_->busy; };
  while (!done() && shared_->wait_lock.wait_until(deadline_ns)) {}
  return done();
}

Status DiskSync::status() {
  const std::lock_guard lock(shared_->wait_lock);
  return std::exchange(shared_->refused, ok());
}

}  // namespace tacho
