#include "query/run_readers.h"

#include <algorithm>
#include <map>

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

void RunReaders::read(StoreReader& reader, const ListedRun& listed, RunBatch& batch) const {
  batch.begin(listed);
  auto stored = reader.read(listed.name, (parts_ & kColumnsPart) != 0 ? Kept::all : Kept::facts, batch.part().stamp);
  if (!stored) {
    batch.part().status = stored.error();
    return;
  }
  batch.part().runs_on = stored->run.outcome.state == RunState::running;
  RunRow run{listed.name, std::move(*stored), {}, {}};
  run.facts = facts_of(run.stored);
  if ((parts_ & kProcessesPart) != 0) run.processes = read_processes(run.stored.folder + "/processes.csv");
  const auto tables = stored_tables();
  for (size_t i = 0; i < tables.size(); ++i) {
    if ((tables[i].part & parts_) == 0) continue;
    RowTaker rows = [&](const std::vector<Cell>& cells) { batch.put(i, cells); };
    tables[i].put(run, rows);
  }
}

void RunReaders::work() {
  StoreReader reader(store_dir_);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopped_ || taken_ < given_ + kBatchesAhead; });
    const size_t batch = taken_, from = batch * kBatch;
    if (stopped_ || from >= runs_.size()) return;
    ++taken_;
    lock.unlock();
    RunBatch rows;
    for (const ListedRun& listed : runs_.subspan(from, std::min(kBatch, runs_.size() - from)))
      read(reader, listed, rows);
    lock.lock();
    ready_.emplace(batch, std::move(rows));
    changed_.notify_all();
  }
}

RunBatch RunReaders::next() {
  std::unique_lock lock(mutex_);
  if (given_ * kBatch >= runs_.size()) return {};
  changed_.wait(lock, [&] { return ready_.contains(given_); });
  RunBatch batch = std::move(ready_.extract(given_++).mapped());
  changed_.notify_all();
  return batch;
}

}  // namespace tacho
