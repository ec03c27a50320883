#include "os/thread.h"

#include <csignal>
#include <ctime>
#include <memory>

#include "base/units.h"

namespace tacho {
namespace {

#ifndef TACHO_SANITIZED
// Only touched pages are resident, so the size bounds address space, not memory. Driver libraries put ioctl arguments
// of many KiB on the stack; below 2 MiB no transparent huge page can back it.
constexpr size_t kStackBytes = 256 * 1024;
#endif

struct Start {
  const char* name;
  std::function<void()> body;
};

void* run(void* argument) {
  const std::unique_ptr<Start> start(static_cast<Start*>(argument));
  pthread_setname_np(pthread_self(), start->name);
  start->body();
  return nullptr;
}

}  // namespace

bool start_detached_thread(const char* name, std::function<void()> body) {
  auto argument = std::make_unique<Start>(Start{name, std::move(body)});
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
#ifndef TACHO_SANITIZED
  pthread_attr_setstacksize(&attributes, kStackBytes);
#endif
  // A thread inherits the mask of its maker: the job's signals must reach the thread that waits for them.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  const bool started = pthread_create(&thread, &attributes, run, argument.get()) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (!started) return false;
  argument.release();
  return true;
}

WaitLock::WaitLock() {
  pthread_mutex_init(&mutex_, nullptr);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&changed_, &attributes);
  pthread_condattr_destroy(&attributes);
}

WaitLock::~WaitLock() {
  pthread_cond_destroy(&changed_);
  pthread_mutex_destroy(&mutex_);
}

bool WaitLock::wait_until(int64_t deadline_ns) {
  const timespec deadline{static_cast<time_t>(deadline_ns / kNsPerSec), static_cast<long>(deadline_ns % kNsPerSec)};
  return pthread_cond_timedwait(&changed_, &mutex_, &deadline) == 0;
}

}  // namespace tacho
