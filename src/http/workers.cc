#include "http/workers.h"

#include <signal.h>

#include <algorithm>

namespace tacho {
namespace {

constexpr int kMostPassed = 1'000;

}  // namespace

RequestWorkers::RequestWorkers(int count, size_t bytes_at_once) : bytes_at_once_(bytes_at_once) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  for (int i = 0; i < count; i++) threads_.emplace_back([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void RequestWorkers::add(size_t bytes, std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back({bytes, std::move(task)});
  }
  changed_.notify_one();
}

void RequestWorkers::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    tasks_.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

bool RequestWorkers::take(Task& task) {
  const auto fits = [this](const Task& one) { return bytes_ == 0 || bytes_ + one.bytes <= bytes_at_once_; };
  const auto end = passed_ < kMostPassed || tasks_.empty() ? tasks_.end() : tasks_.begin() + 1;
  const auto found = std::find_if(tasks_.begin(), end, fits);
  if (found == end) return false;
  passed_ = found == tasks_.begin() ? 0 : passed_ + 1;
  task = std::move(*found);
  tasks_.erase(found);
  return true;
}

void RequestWorkers::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    Task task;
    changed_.wait(lock, [&] { return stopping_ || take(task); });
    if (stopping_) return;
    bytes_ += task.bytes;
    const bool more = !tasks_.empty();
    lock.unlock();
    if (more) changed_.notify_one();
    task.run();
    const size_t bytes = task.bytes;
    task = {};
    lock.lock();
    bytes_ -= bytes;
  }
}

}  // namespace tacho
