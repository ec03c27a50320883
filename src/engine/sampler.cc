#include "engine/sampler.h"

#include <algorithm>

#include "base/log.h"
#include "base/text.h"
#include "base/units.h"

namespace tacho {
namespace {

constexpr int kCompatibleColumns = 32;

// The older client writes memory of the machine and of the job as whole MiB, and those who read it parse integers.
bool is_whole_in_client(const Column& column) {
  return (column.position >= 6 && column.position <= 11) || column.position == 27;
}

bool names(const std::vector<std::string>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

Status check_names(const std::vector<std::string>& list) {
  std::vector<std::string_view> known;
  for (const ProbeInfo& probe : all_probes()) known.push_back(probe.name);
  for (const std::string& name : list) {
    if (find_probe(name) != nullptr) continue;
    const std::string_view near = nearest(name, known);
    return Error{Code::invalid, "unknown probe", name,
                 near.empty() ? "see tacho list probes" : "did you mean " + std::string(near) + "?"};
  }
  return ok();
}

}  // namespace

Result<std::unique_ptr<Sampler>> Sampler::create(ProbeContext& context, const ProbeChoice& choice, Clock& clock) {
  for (const auto* list : {&choice.on, &choice.off})
    if (Status status = check_names(*list); !status) return status.error();
  std::unique_ptr<Sampler> sampler(new Sampler(context, clock));
  for (const ProbeInfo& info : all_probes()) {
    const bool asked = names(choice.on, info.name);
    if (names(choice.off, info.name) || (info.by_default == ProbeDefault::off && !asked)) continue;
    // A probe none of whose columns the older client has is not read for it.
    const auto extends = [](const Column& column) { return column.position > kCompatibleColumns; };
    if (choice.compatible && !asked && info.by_default == ProbeDefault::on &&
        std::all_of(info.columns.begin(), info.columns.end(), extends))
      continue;
    auto probe = info.make(context);
    if (!probe) {
      log::debug(std::string(info.name) + ": " + probe.error().message());
      if (asked && probe.error().code != Code::not_available) log::warn(probe.error());
      // Where the source is absent, an automatic probe has no columns; one that is on or was asked for has empty ones.
      if (info.by_default == ProbeDefault::automatic && !asked) continue;
    }
    Source source{};
    source.info = &info;
    if (probe) source.probe = std::move(*probe);
    sampler->sources_.push_back(std::move(source));
  }
  sampler->build_schema(choice.compatible, choice);
  return sampler;
}

void Sampler::build_schema(bool compatible, const ProbeChoice& choice) {
  for (size_t i = 0; i < sources_.size(); ++i)
    for (const Column& column : sources_[i].info->columns)
      if (column.position <= kCompatibleColumns || !compatible || names(choice.on, sources_[i].info->name))
        cells_.push_back({i, &column});
  // The 32 compatible columns are always there, empty where their probe is off.
  for (const ProbeInfo& info : all_probes())
    for (const Column& column : info.columns) {
      const bool there =
          std::any_of(cells_.begin(), cells_.end(), [&](const Cell& cell) { return cell.column == &column; });
      if (column.position <= kCompatibleColumns && !there) cells_.push_back({SIZE_MAX, &column});
    }
  std::stable_sort(cells_.begin(), cells_.end(),
                   [](const Cell& a, const Cell& b) { return a.column->position < b.column->position; });
  schema_.push_back(kTimestampColumn);
  for (const Cell& cell : cells_) {
    schema_.push_back(*cell.column);
    if (compatible && is_whole_in_client(*cell.column)) schema_.back().decimals = 0;
  }
}

void Sampler::read() {
  for (Source& source : sources_)
    if (source.probe) source.probe->prepare();
  for (Source& source : sources_) {
    if (!source.probe) continue;
    source.newest = 1 - source.newest;
    Reading& now = source.now();
    source.before().keep_from(now);
    now.clear();
    now.stamp_ns = clock_.monotonic_ns();
    source.probe->read(now);
  }
}

void Sampler::baseline() {
  last_ns_ = clock_.monotonic_ns();
  read();
}

void Sampler::rebase(std::string_view probe) {
  context_.facts = {};
  for (Source& source : sources_) {
    if (!source.probe || source.info->name != probe) continue;
    source.now().clear();
    source.now().stamp_ns = clock_.monotonic_ns();
    source.probe->read(source.now());
  }
}

void Sampler::sample(Row& row, bool closing) {
  context_.facts = {};
  context_.facts.closing = closing;
  read();
  const int64_t now_ns = clock_.monotonic_ns();
  row.index = rows_++;
  row.closing = closing;
  row.interval_ns = now_ns - last_ns_;
  last_ns_ = now_ns;
  row.realtime_ns = next_time(row.interval_ns);
  row.cells.resize(schema_.size());
  row.cells[0] = seconds_by_ms(row.realtime_ns);
  for (size_t i = 0; i < cells_.size(); ++i) {
    const Cell& cell = cells_[i];
    const bool read_now = cell.source != SIZE_MAX && sources_[cell.source].probe;
    row.cells[i + 1] =
        read_now ? derive(*cell.column, sources_[cell.source].before(), sources_[cell.source].now()) : kAbsent;
  }
}

// Strictly increasing in the printed digits, but for a clock that was set back by more than the next interval makes up
// for: this row then still comes after the last one, and the next goes on from the new time.
int64_t Sampler::next_time(int64_t interval_ns) {
  const int64_t clock_ns = clock_.realtime_ns();
  int64_t time_ns = std::max(clock_ns, last_realtime_ns_ + kNsPerMs);
  // A time that came before must not come again to the microsecond, by which rows elsewhere are told apart: the last
  // digits tell how often the clock was set back.
  time_ns += (set_back_ - time_ns / kNsPerUs % kTimeGrid + kTimeGrid) % kTimeGrid * kNsPerUs;
  last_realtime_ns_ = time_ns;
  const int64_t behind_ns = time_ns - clock_ns;
  if (behind_ns <= std::max(interval_ns, context_.interval_ns)) return time_ns;
  last_realtime_ns_ = clock_ns;
  set_back_ = (set_back_ + 1) % kTimeGrid;
  if (++steps_noted_ <= kMostStepsNoted) {
    const int64_t step_s = (behind_ns + interval_ns + kNsPerSec / 2) / kNsPerSec;
    context_.note("the machine's clock was set back by " + std::to_string(step_s) + " s at row " +
                  std::to_string(rows_) + ": timestamps go on from the new time in the next row");
  }
  return time_ns;
}

void Sampler::describe(Detail& detail) {
  detail.stamp_ns = last_ns_;
  for (Source& source : sources_)
    if (source.probe) source.probe->describe(detail);
}

void Sampler::describe(Detail& detail, std::span<const std::string_view> probes) {
  detail.stamp_ns = last_ns_;
  for (Source& source : sources_)
    if (source.probe && std::find(probes.begin(), probes.end(), source.info->name) != probes.end())
      source.probe->describe(detail);
}

bool Sampler::list_devices() {
  bool all = true;
  for (Source& source : sources_) {
    if (!source.probe || source.devices_listed) continue;
    if (source.probe->knows_devices()) list_devices_of(source);
    else all = false;
  }
  return all;
}

void Sampler::list_late_devices() {
  for (Source& source : sources_)
    if (source.probe && !source.devices_listed) list_devices_of(source);
}

void Sampler::list_devices_of(Source& source) {
  std::vector<DeviceColumn> columns = source.probe->list_devices();
  source.devices_listed = true;
  source.devices = columns.size();
  source.first_device = devices_.add(std::move(columns));
}

void Sampler::read_devices() {
  devices_.begin_tick();
  for (Source& source : sources_)
    if (source.probe && source.devices > 0)
      source.probe->read_devices(devices_.values(source.first_device, source.devices));
}

void Sampler::fill_host(Run& run) const {
  for (const Source& source : sources_)
    if (source.probe) source.probe->describe_run(run);
}

bool Sampler::wants_new_job() const {
  return std::any_of(sources_.begin(), sources_.end(),
                     [](const Source& source) { return source.probe && source.probe->wants_new_job(); });
}

void Sampler::new_job(pid_t pid) {
  for (Source& source : sources_)
    if (source.probe) source.probe->new_job(pid);
}

}  // namespace tacho
