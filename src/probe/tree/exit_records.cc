#include "probe/tree/exit_records.h"

#include <unistd.h>

#include <algorithm>

#include "base/units.h"
#include "os/process.h"

namespace tacho {
namespace {

constexpr uint64_t kSpareTicks = 3;  // of 10 ms: both times are cut to them

}  // namespace

bool EndedProcess::was_started_at(uint64_t start_ticks) const {
  static const int64_t ns_per_tick = kNsPerSec / ::sysconf(_SC_CLK_TCK);
  const uint64_t ended_ticks = start_ticks + static_cast<uint64_t>(exit.lived_ns / ns_per_tick);
  return ended_ticks + kSpareTicks >= after_ticks && ended_ticks <= before_ticks + kSpareTicks;
}

ExitRecords::ExitRecords(ExitMessages messages) : messages_(std::move(messages)), begun_ticks_(boot_time_ticks()) {}

void ExitRecords::collect() {
  if (!messages_) return;
  const size_t before = processes_.size();
  const uint64_t begun_ticks = boot_time_ticks();
  const bool all = messages_->read(kMostMessages, [this](std::string_view message) {
    TaskExit exit;
    if (parse_task_exit(message, exit)) add(exit);
  });
  if (!all) lost_some_ = true;
  if (processes_.size() > before) {
    const uint64_t now_ticks = boot_time_ticks();
    for (size_t i = before; i < processes_.size(); ++i)
      processes_[i].after_ticks = begun_ticks_, processes_[i].before_ticks = now_ticks;
  }
  begun_ticks_ = begun_ticks;
}

void ExitRecords::add(const TaskExit& exit) {
  if (!exit.last) return add_thread(exit);
  if (processes_.size() >= kMostProcesses) {
    lost_some_ = true;
    return;
  }
  EndedProcess& ended = processes_.emplace_back(EndedProcess{exit, 0, 0, tick_});
  const auto threads = std::find_if(threads_.begin(), threads_.end(),
                                    [&](const Threads& threads) { return threads.process == exit.process; });
  if (threads == threads_.end()) return;
  ended.exit.cpu_ns += threads->cpu_ns;
  ended.exit.read_bytes += threads->read_bytes;
  ended.exit.write_bytes += threads->write_bytes;
  threads_.erase(threads);
}

void ExitRecords::add_thread(const TaskExit& exit) {
  auto threads = std::find_if(threads_.begin(), threads_.end(),
                              [&](const Threads& threads) { return threads.process == exit.process; });
  if (threads == threads_.end()) {
    if (threads_.size() >= kMostThreads) {
      lost_some_ = true;
      return;
    }
    threads = threads_.insert(threads_.end(), Threads{exit.process});
  }
  threads->cpu_ns += exit.cpu_ns;
  threads->read_bytes += exit.read_bytes;
  threads->write_bytes += exit.write_bytes;
  threads->tick = tick_;
}

std::optional<TaskExit> ExitRecords::take(pid_t pid, uint64_t start_ticks) {
  const auto at = std::find_if(processes_.begin(), processes_.end(), [&](const EndedProcess& ended) {
    return ended.exit.process == pid && (start_ticks == 0 || ended.was_started_at(start_ticks));
  });
  if (at == processes_.end()) return std::nullopt;
  const TaskExit exit = at->exit;
  processes_.erase(at);
  return exit;
}

void ExitRecords::end_tick() {
  // One that lives through a tick is a member by then, whose own clock has the time of its threads.
  std::erase_if(threads_, [this](const Threads& threads) { return threads.tick != tick_; });
  std::erase_if(processes_, [this](const EndedProcess& ended) { return ended.of_job || ended.tick != tick_; });
  ++tick_;
}

}  // namespace tacho
