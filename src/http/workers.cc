#include "http/workers.h"

#include <signal.h>

namespace tacho {

RequestWorkers::RequestWorkers(int count) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  for (int i = 0; i < count; i++) threads_.emplace_back([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void RequestWorkers::add(std::function<void()> task) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    wake = idle_ > 0;
  }
  if (wake) changed_.notify_one();
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

void RequestWorkers::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    idle_++;
    changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    idle_--;
    if (stopping_) return;
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

}  // namespace tacho
