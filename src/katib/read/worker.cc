#include "katib/read/worker.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <mutex>
#include <utility>

#include "os/fd.h"
#include "os/thread.h"

namespace tacho {

struct Worker::Shared {
  WaitLock wait_lock;
  std::function<void()> job;
  bool ending = false;
  Fd event{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};

  void run() {
    std::unique_lock lock(wait_lock);
    for (;;) {
      while (!job && !ending) wait_lock.wait();
      if (!job) return;
      std::function<void()> mine = std::exchange(job, nullptr);
      lock.unlock();
      mine();
      mine = nullptr;  // what it holds is large, and the next of its kind is made as soon as its end is told
      lock.lock();
      const uint64_t one = 1;
      if (::write(event.get(), &one, sizeof one) < 0) return;  // cannot be: the counter is far from full
    }
  }
};

Worker::Worker(const char* name) : name_(name), shared_(std::make_shared<Shared>()) {}

Worker::~Worker() {
  const std::lock_guard lock(shared_->wait_lock);
  shared_->ending = true;
  shared_->wait_lock.notify_all();
}

int Worker::fd() const { return shared_->event.get(); }

bool Worker::start(std::function<void()> job) {
  if (!running_) running_ = start_detached_thread(name_, [shared = shared_] { shared->run(); });
  if (!running_) return false;
  busy_ = true;
  const std::lock_guard lock(shared_->wait_lock);
  shared_->job = std::move(job);
  shared_->wait_lock.notify_all();
  return true;
}

bool Worker::finished() {
  uint64_t count = 0;
  if (!busy_ || ::read(fd(), &count, sizeof count) != sizeof count) return false;
  busy_ = false;
  return true;
}

}  // namespace tacho
