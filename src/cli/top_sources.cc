#include "cli/top_sources.h"

#include "base/units.h"
#include "engine/looking.h"
#include "os/line_file.h"
#include "report/live/live_processes.h"
#include "report/store/csv_reader.h"

namespace tacho {
namespace {

class Sampled final : public TopSource {
 public:
  explicit Sampled(std::unique_ptr<Looking> looking) : looking_(std::move(looking)) {}
  bool look(const Take& take) override {
    looking_->sample();
    return take(looking_->row(), true);
  }
  LiveState& state() override { return looking_->state(); }
  const Schema& schema() const override { return looking_->schema(); }
  bool waits_first() const override { return true; }

 private:
  std::unique_ptr<Looking> looking_;
};

class Recorded final : public TopSource {
 public:
  explicit Recorded(const Input& input) : rows_path_(input.rows_path), processes_(sibling("processes.csv")) {
    state_.of_record = true;
  }

  Status open(const Input& input) {
    if (const Status status = rows_.open(rows_path_); !status) return status;
    const int64_t started_ns = input.stored.run.outcome.started_realtime_ns;
    if (started_ns > 0) rows_.set_start(as_seconds(started_ns));
    schema_ = rows_.schema();
    state_.figures.begin(input.stored.run, schema_);
    return ok();
  }

  bool look(const Take& take) override {
    const bool lives = probe_lock(rows_path_) == LockState::held;  // first: what was written until then is read below
    state_.ended = !lives;
    read_devices();
    processes_.read();
    state_.processes = processes_.list(!lives);
    Row row, newer;
    bool has_row = rows_.next(row);
    while (has_row) {
      state_.figures.add(row);
      has_row = rows_.next(newer);
      if (!take(row, !has_row)) return false;
      std::swap(row, newer);
    }
    rows_.go_on();
    return lives;
  }

  LiveState& state() override { return state_; }
  const Schema& schema() const override { return schema_; }
  bool waits_first() const override { return false; }

 private:
  std::string sibling(const char* name) const { return rows_path_.substr(0, rows_path_.rfind('/') + 1) + name; }

  // The file may come later, with the first row. One beside a metrics file that is no run's is not asked for.
  void read_devices() {
    if (!rows_path_.ends_with("/metrics.csv")) return;
    if (!has_devices_) has_devices_ = static_cast<bool>(devices_.open(sibling("devices.csv")));
    if (!has_devices_) return;
    Row row;
    while (devices_.next(row)) state_.devices = live_devices(devices_.columns(), row.cells);
    devices_.go_on();
  }

  std::string rows_path_;
  CsvReader rows_, devices_;
  bool has_devices_ = false;
  LiveProcesses processes_;
  Schema schema_;
  LiveState state_;
};

}  // namespace

Result<std::unique_ptr<TopSource>> sampled_source(const Settings& settings, Job& job) {
  auto looking = Looking::begin(settings, job);
  if (!looking) return looking.error();
  return std::unique_ptr<TopSource>(std::make_unique<Sampled>(std::move(*looking)));
}

Result<std::unique_ptr<TopSource>> recorded_source(const Input& input) {
  auto source = std::make_unique<Recorded>(input);
  if (const Status status = source->open(input); !status) return status.error();
  return std::unique_ptr<TopSource>(std::move(source));
}

}  // namespace tacho
