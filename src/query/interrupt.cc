#include "query/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

namespace tacho {
namespace {

std::atomic<bool> interrupted{false};
std::atomic<sqlite3*> running{nullptr};
static_assert(std::atomic<sqlite3*>::is_always_lock_free);

void on_interrupt(int) {
  if (interrupted.exchange(true)) ::_exit(kInterruptedStatus);
  if (sqlite3* database = running.load()) sqlite3_interrupt(database);  // sets a flag
}

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;  // without SA_RESTART: whoever waits for a pipe wakes up
  ::sigaction(SIGINT, &action, nullptr);
}

void interrupt_also(sqlite3* database) { running.store(database); }

bool is_interrupted() { return interrupted.load(); }

}  // namespace tacho
