#include "report/live/live_view.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/units.h"
#include "report/store/facts.h"
#include "report/store/human.h"
#include "report/summary_text.h"

namespace tacho {
namespace {

std::string rate_text(double bytes_per_s) { return is_absent(bytes_per_s) ? "-" : bytes_text(bytes_per_s) + "/s"; }

}  // namespace

std::string bars_text(std::span<const double> values, double whole) {
  constexpr std::array<const char*, 8> kLevels{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  double top = whole;
  if (is_absent(top))
    for (const double value : values) top = is_absent(top) || value > top ? value : top;
  std::string text;
  for (const double value : values) {
    const double share = is_absent(value) || !(top > 0) ? 0 : std::clamp(value / top, 0.0, 1.0);
    text += is_absent(value) ? " " : kLevels[static_cast<size_t>(share * 7.999)];
  }
  return text;
}

void LiveView::History::add(double value) {
  if (values.size() == kHistory) values.erase(values.begin());
  values.push_back(value);
}

void LiveView::begin(const Run& run, const Schema& schema) {
  run_ = run;
  for (const Column& column : schema) columns_.emplace_back(column.name);
  machine_ = run.mode == kModeWatch;
  const RunFacts facts = facts_of(run, kAbsent, [](std::string_view) { return Statistics{}; });
  cores_ = facts.cores;
  memory_bytes_ = facts.memory_bytes;
}

double LiveView::cell(std::string_view column) const {
  const auto found = std::find(columns_.begin(), columns_.end(), column);
  const auto index = static_cast<size_t>(found - columns_.begin());
  return index < row_.cells.size() ? row_.cells[index] : kAbsent;
}

double LiveView::rate(std::string_view column) const {
  return row_.interval_ns > 0 ? cell(column) / as_seconds(row_.interval_ns) : kAbsent;
}

void LiveView::add(const Row& row) {
  row_ = row;
  ++rows_;
  if (run_.mode.empty()) machine_ = is_absent(cell("process_cpu_usage"));  // a file does not tell what it is of
  elapsed_s_ += as_seconds(row.interval_ns);
  cpu_.add(cell(machine_ ? "system_cpu_usage" : "process_cpu_usage"));
  memory_.add(cell(machine_ ? "system_memory_used_mib" : "process_memory_mib") * static_cast<double>(kMiB));
  gpu_.add(cell(machine_ ? "system_gpu_usage" : "process_gpu_usage"));
}

std::string LiveView::head() const {
  std::string text;
  if (run_.mode == kModeWatch) text += "the whole machine";
  else if (const std::string command = command_text(run_, 200); !command.empty()) text += command;
  else text += run_.pid > 0 ? "pid " + std::to_string(run_.pid) : harmless_text(run_.id);  // of a file its name
  return text + " · " + duration_text(elapsed_s_);
}

std::vector<LiveView::Part> LiveView::parts() const {
  std::vector<Part> parts;
  const std::string side = machine_ ? "system_" : "process_";
  const auto add = [&](const char* name, double value, const std::string& text, const History* history, double whole) {
    if (!is_absent(value)) parts.push_back({name, text, history, whole});
  };
  const double cpu = cell(side + "cpu_usage"), memory = memory_.values.empty() ? kAbsent : memory_.values.back();
  add("cpu", cpu, cores_text(cpu, cores_), &cpu_, cores_);
  add("memory", memory, bytes_text(memory) + (is_absent(memory_bytes_) ? "" : " of " + bytes_text(memory_bytes_)),
      &memory_, memory_bytes_);
  const double gpu = cell(side + "gpu_usage"), vram = cell(side + "gpu_vram_mib");
  // Without a GPU the machine's columns are a measured 0: nothing to show.
  if (gpu > 0 || vram > 0 || (!machine_ && !is_absent(gpu)))
    add("gpu", gpu,
        number_text(gpu * 100) + "%" + (is_absent(vram) ? "" : ", " + bytes_text(vram * static_cast<double>(kMiB))),
        &gpu_, kAbsent);
  const double read = rate(side + "disk_read_bytes"), written = rate(side + "disk_write_bytes");
  add("disk", is_absent(read) ? written : read, rate_text(read) + " read, " + rate_text(written) + " written", nullptr,
      kAbsent);
  const double received = rate("system_net_recv_bytes"), sent = rate("system_net_sent_bytes");
  add("network", is_absent(received) ? sent : received,
      rate_text(received) + " in, " + rate_text(sent) + " out" + (machine_ ? "" : " (machine)"), nullptr, kAbsent);
  const double processes = machine_ ? cell("system_processes") : cell("process_children") + 1;
  add("processes", processes, number_text(processes), nullptr, kAbsent);
  return parts;
}

std::vector<LiveView::Figure> LiveView::figures(size_t width) const {
  constexpr size_t kBarsAt = 40;
  std::vector<Figure> figures;
  if (empty()) return figures;
  for (const Part& part : parts()) {
    Figure figure{part.name, part.text, ""};
    if (part.history != nullptr && width > kBarsAt) {
      const std::span<const double> values = part.history->values;
      figure.bars = bars_text(values.last(std::min(values.size(), width - kBarsAt)), part.whole);
    }
    figures.push_back(std::move(figure));
  }
  return figures;
}

std::string LiveView::line() const {
  std::string text = duration_text(elapsed_s_);
  for (const Part& part : parts()) text += " · " + part.name + " " + part.text;
  return text + "\n";
}

}  // namespace tacho
