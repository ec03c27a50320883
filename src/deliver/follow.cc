#include "deliver/follow.h"

#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "base/units.h"
#include "base/writer.h"
#include "deliver/kinds.h"
#include "deliver/leftovers.h"
#include "os/memory.h"

namespace tacho {
namespace {

constexpr size_t kMostRuns = 64;  // in hands at a time
constexpr int64_t kLookForRuns_ns = kNsPerSec / 2, kLeftAgain_ns = 300 * kNsPerSec;

volatile sig_atomic_t follower_stops = 0;

class Follower {
 public:
  explicit Follower(Delivering& shared) : shared_(shared) {}

  int run() {
    shared_.http.on_cancel([] { return follower_stops != 0; });
    give_back_memory(true);
    while (follower_stops == 0) {
      take_free_runs();
      int64_t wake_ns = now_ns() + kLookForRuns_ns;
      for (size_t i = 0; i < taken_.size() && follower_stops == 0;) {
        if (step(taken_[i])) wake_ns = std::min(wake_ns, taken_[i].next_ns), ++i;
        else taken_.erase(taken_.begin() + static_cast<std::ptrdiff_t>(i));
      }
      if (follower_stops == 0) system_clock().wait({}, wake_ns);
    }
    return 0;
  }

 private:
  struct Taken {
    std::string folder;
    std::unique_ptr<Delivery> delivery;
    int64_t next_ns = 0;
  };
  static int64_t now_ns() { return system_clock().monotonic_ns(); }

  // Whether it goes on.
  bool step(Taken& taken) {
    if (now_ns() < taken.next_ns) return true;
    const Step step = taken.delivery->step();
    taken.next_ns = step.wake_ns;
    if (step.kind == Step::Kind::wait) return true;
    if (step.kind == Step::Kind::left) not_before_ns_[taken.folder] = now_ns() + kLeftAgain_ns;
    if (shared_.told) shared_.told(*taken.delivery, step.kind == Step::Kind::done);
    return false;
  }

  void take_free_runs() {
    if (taken_.size() >= kMostRuns) return;
    for (std::string& folder : all_spooled()) {
      if (taken_.size() >= kMostRuns) return;
      const auto known = not_before_ns_.find(folder);
      if (known != not_before_ns_.end() && now_ns() < known->second) continue;
      if (std::any_of(taken_.begin(), taken_.end(), [&](const Taken& one) { return one.folder == folder; })) continue;
      take(std::move(folder));
    }
  }

  void take(std::string folder) {
    SpoolRun run(folder);
    const auto text = run.meta();
    const auto meta = text ? parse_meta(*text) : Result<SpoolMeta>(text.error());
    const DeliveryKind* kind = meta ? kind_of(*meta) : nullptr;
    if (kind == nullptr) return;
    if (const std::string whose = kind->elsewhere(*meta); !whose.empty()) {
      shared_.notices.warn("elsewhere", folder + " belongs to " + whose);
      not_before_ns_[folder] = now_ns() + kLeftAgain_ns;
      return;
    }
    if (!run.lock()) return;  // in other hands
    taken_.push_back({std::move(folder), kind->make(std::move(run), Role::command, shared_), 0});
    taken_.back().delivery->finish(0);
  }

  Delivering& shared_;
  std::vector<Taken> taken_;
  std::map<std::string, int64_t> not_before_ns_;
};

}  // namespace

void print_progress(Delivery& delivery, bool delivered) {
  const auto now = delivery.progress();
  if (!now) return;
  Writer text;
  JsonWriter json(text);
  json.object().key("run").value(now->run).key("destination").value(now->destination);
  json.key("state").value(delivered ? "delivered" : now->blocked ? "blocked" : "waiting");
  json.key("sent").integer(now->sent).key("refused").integer(now->refused).key("waiting").integer(now->waiting);
  json.key("dead_letter");
  if (now->dead_letter.empty()) json.null();
  else json.value(now->dead_letter);
  json.end_object();
  std::printf("%s\n", std::string(text.view()).c_str());
  std::fflush(stdout);
}

int follow_spool(Delivering& shared) {
  struct sigaction action {};
  action.sa_handler = [](int) { follower_stops = 1; };
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) ::sigaction(number, &action, nullptr);
  return Follower(shared).run();
}

}  // namespace tacho
