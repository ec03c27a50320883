#include "query/run_readers.h"

#include <algorithm>
#include <map>

#include "codec/process_csv.h"
#include "report/store/record_lines.h"

namespace tacho {
namespace {

constexpr size_t kBatch = 64, kBatchesAhead = 6;
constexpr unsigned kMostThreads = 4;
// A run that goes on may have listed more than its finished file will hold.
constexpr size_t kMostProcesses = 200'000;

// Of several lines of a process the last one counts; merged ones have no number and stand each by itself.
std::vector<ProcessLine> read_processes(const std::string& path) {
  std::vector<ProcessLine> lines;
  RecordLines records;
  if (!records.open(path)) return lines;
  std::map<std::pair<int64_t, double>, size_t> places;
  std::string_view record;
  ProcessLine line;
  while (records.next(record) && lines.size() < kMostProcesses) {
    if (!read_process_line(record, line)) continue;
    const auto key = std::make_pair(line.pid, is_absent(line.started) ? 0 : line.started);
    const auto [at, is_new] = places.try_emplace(key, lines.size());
    if (is_new || line.pid == 0) lines.push_back(std::move(line));
    else lines[at->second] = std::move(line);
  }
  return lines;
}

}  // namespace

RunReaders::RunReaders(std::string store_dir, std::span<const ListedRun> runs, uint32_t parts)
    : store_dir_(std::move(store_dir)), runs_(runs), parts_(parts) {
  const size_t cores = std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads);
  const size_t batches = (runs.size() + kBatch - 1) / kBatch;
  for (size_t i = 0; i < std::min(cores, batches); ++i) threads_.emplace_back([this] { work(); });
}

RunReaders::~RunReaders() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

ReadRun RunReaders::read(const ListedRun& listed) const {
  const std::string folder = store_dir_ + "/" + listed.name;
  auto stored = read_stored(folder, (parts_ & kColumnsPart) != 0 ? Kept::all : Kept::facts);
  if (!stored) return {&listed, stored.error()};
  RunRow row{listed.name, std::move(*stored), {}, {}};
  row.facts = facts_of(row.stored);
  if ((parts_ & kProcessesPart) != 0) row.processes = read_processes(folder + "/processes.csv");
  row.stored.json = {};  // nobody stores it, and it is the largest part
  return {&listed, std::move(row)};
}

void RunReaders::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopped_ || taken_ < given_ + kBatchesAhead; });
    const size_t batch = taken_, from = batch * kBatch;
    if (stopped_ || from >= runs_.size()) return;
    ++taken_;
    lock.unlock();
    std::vector<ReadRun> read_runs;
    for (const ListedRun& listed : runs_.subspan(from, std::min(kBatch, runs_.size() - from)))
      read_runs.push_back(read(listed));
    lock.lock();
    ready_.emplace(batch, std::move(read_runs));
    changed_.notify_all();
  }
}

std::vector<ReadRun> RunReaders::next() {
  std::unique_lock lock(mutex_);
  if (given_ * kBatch >= runs_.size()) return {};
  changed_.wait(lock, [&] { return ready_.contains(given_); });
  std::vector<ReadRun> batch = std::move(ready_.extract(given_++).mapped());
  changed_.notify_all();
  return batch;
}

}  // namespace tacho
