#include "monitor/space_workers.h"

#include <cstdlib>
#include <mutex>

#include "os/clock.h"

namespace tacho {

struct SpaceWorkers::Shared {
  struct Slot {
    std::string path;
    SpaceAnswer answer;
    uint64_t answered = 0;  // the request it belongs to
    bool stuck = false;     // a thread hangs in it
  };
  WaitLock wait_lock;
  // Guarded by it.
  std::vector<Slot> slots;
  uint64_t asked = 0, done = 0;
  uint64_t crew = 0;     // the thread that works; an older one is gone when it comes back
  size_t at = SIZE_MAX;  // where it is
  bool stopping = false;
  Ask ask;
};

bool SpaceWorkers::ask_kernel(const std::string& path, Space& space, std::string& real_path) {
  if (!read_space(path.c_str(), space)) return false;
  if (real_path.empty()) {
    char* const found = ::realpath(path.c_str(), nullptr);
    if (found != nullptr) real_path = found;
    std::free(found);
  }
  return true;
}

SpaceWorkers::SpaceWorkers(std::vector<std::string> paths, Ask ask) : shared_(std::make_shared<Shared>()) {
  for (std::string& path : paths) shared_->slots.push_back({std::move(path), {}, 0, false});
  shared_->ask = std::move(ask);
}

SpaceWorkers::~SpaceWorkers() {
  const std::lock_guard lock(shared_->wait_lock);
  shared_->stopping = true;
  shared_->wait_lock.notify_all();
}

// The lock is held.
bool SpaceWorkers::start_worker() {
  const uint64_t crew = ++shared_->crew;
  shared_->at = SIZE_MAX;
  if (start_detached_thread("tacho-space", [shared = shared_, crew] { work(shared, crew); })) return true;
  shared_->crew = 0;
  return false;
}

void SpaceWorkers::work(const std::shared_ptr<Shared>& shared, uint64_t crew) {
  std::unique_lock lock(shared->wait_lock);
  while (shared->crew == crew && !shared->stopping) {
    if (shared->asked == shared->done) {
      shared->wait_lock.wait();
      continue;
    }
    const uint64_t round = shared->asked;
    for (size_t i = 0; i < shared->slots.size(); ++i) {
      Shared::Slot& slot = shared->slots[i];
      if (slot.stuck || slot.answered == round) continue;
      shared->at = i;
      SpaceAnswer answer = slot.answer;
      lock.unlock();
      answer.ok = shared->ask(slot.path, answer.space, answer.real_path);
      lock.lock();
      if (shared->crew != crew) {  // given up meanwhile: the mount lives again, and others do the work
        slot.stuck = false;
        return;
      }
      // After a failure the path may lead elsewhere.
      if (!answer.ok) answer.real_path.clear();
      slot.answer = std::move(answer);
      slot.answered = round;
    }
    shared->at = SIZE_MAX;
    shared->done = round;
    shared->wait_lock.notify_all();
  }
}

void SpaceWorkers::request() {
  const std::lock_guard lock(shared_->wait_lock);
  ++shared_->asked;
  if (shared_->crew == 0 && !start_worker()) return;
  shared_->wait_lock.notify_all();
}

void SpaceWorkers::take(int64_t patience_ns, std::vector<SpaceAnswer>& answers) {
  std::unique_lock lock(shared_->wait_lock);
  // Twice: once a thread was found to hang, another one gets a moment for the mounts behind it.
  for (int round = 0; round < 2 && shared_->crew != 0 && shared_->done != shared_->asked; ++round) {
    const int64_t deadline_ns = system_clock().monotonic_ns() + patience_ns;
    while (shared_->done != shared_->asked && shared_->wait_lock.wait_until(deadline_ns)) {}
    if (shared_->done == shared_->asked || shared_->at >= shared_->slots.size()) break;
    shared_->slots[shared_->at].stuck = true;
    start_worker();
  }
  answers.resize(shared_->slots.size());
  for (size_t i = 0; i < answers.size(); ++i) {
    const Shared::Slot& slot = shared_->slots[i];
    answers[i] = slot.answer;
    answers[i].ok = slot.answer.ok && slot.answered == shared_->asked;
  }
}

}  // namespace tacho
