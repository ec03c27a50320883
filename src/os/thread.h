// Threads for sources that may block inside a driver: nobody ever joins them, so that a hanging call cannot keep the
// process from ending. What they share with others is owned by a shared_ptr that the thread holds too.
#pragma once
#include <pthread.h>

#include <cstdint>
#include <functional>

namespace tacho {

// Starts a detached thread with a small stack and with all signals blocked; name is a literal of at most 15 letters.
// False when the system refuses (EAGAIN).
bool start_detached_thread(const char* name, std::function<void()> body);

// A mutex with one condition on CLOCK_MONOTONIC, so that a step of the
// wall clock lengthens no wait. Usable with std::lock_guard and std::unique_lock.
class WaitLock {
 public:
  WaitLock();
  ~WaitLock();
  WaitLock(const WaitLock&) = delete;
  WaitLock& operator=(const WaitLock&) = delete;

  void lock() { pthread_mutex_lock(&mutex_); }
  void unlock() { pthread_mutex_unlock(&mutex_); }
  void notify_all() { pthread_cond_broadcast(&changed_); }
  // The caller holds the lock. May wake for no reason.
  void wait() { pthread_cond_wait(&changed_, &mutex_); }
  // False when the deadline (CLOCK_MONOTONIC) passed.
  bool wait_until(int64_t deadline_ns);

 private:
  pthread_mutex_t mutex_;
  pthread_cond_t changed_;
};

}  // namespace tacho
