#include "monitor/text_log.h"

#include <numeric>

#include "base/log.h"
#include "base/time_text.h"
#include "base/units.h"

namespace tacho {
namespace {

constexpr int64_t kPace_ns = 10 * kNsPerSec;

void put_line(Writer& out, std::string_view name, double value, std::string_view unit) {
  out.put(name);
  out.put_fixed(value, 1);
  out.put(unit);
  out.put('\n');
}

void put_share(Writer& out, std::string_view name, double part, double all) {
  if (all > 0) put_line(out, name, 100 * part / all, "%");
}

}  // namespace

void put_log_header(Writer& out, const RuntimeFacts& facts, size_t working_disk) {
  out.put(
      "==================================\n=========== MONITORING ===========\n==================================\n"
      "--- General Information ---\n#CPU: ");
  out.put_int(facts.cpu_count);
  out.put('\n');
  if (facts.mem_total_bytes)
    put_line(out, "Total Memory: ", static_cast<double>(*facts.mem_total_bytes) * kBytesToGb, "G");
  if (working_disk < facts.disks.size()) put_line(out, "Total Disk space: ", facts.disks[working_disk].total_gb, "G");
  out.put("\n--- Runtime Information ---\n");
}

void put_log_record(Writer& out, const MetricsSample& sample, size_t working_disk) {
  out.put('[');
  out.put(DateText(sample.realtime_ns).view());
  out.put("]\n");
  if (!sample.cpu_used_percent.empty()) {
    const double sum = std::accumulate(sample.cpu_used_percent.begin(), sample.cpu_used_percent.end(), 0.0);
    put_line(out, "* CPU usage: ", sum / static_cast<double>(sample.cpu_used_percent.size()), "%");
  }
  if (const auto used = used_memory_gb(sample.memory))
    put_share(out, "* Memory usage: ", *used, static_cast<double>(*sample.memory.total_bytes) * kBytesToGb);
  if (working_disk < sample.disks.size())
    put_share(out, "* Disk usage: ", sample.disks[working_disk].used_gb, sample.disks[working_disk].total_gb);
}

void TextLog::begin(const RuntimeFacts& facts) {
  auto file = LineFile::open("-");
  if (!file) return log::warn(file.error());
  file_ = std::move(*file);
  text_.clear();
  put_log_header(text_, facts, working_disk_);
  send();
}

void TextLog::write(const MetricsSample& sample) {
  const bool early = sample.realtime_ns < next_ns_ && sample.realtime_ns >= next_ns_ - kPace_ns;  // not: set back
  if (!file_ || (sample.event.empty() && early)) return;
  next_ns_ = sample.realtime_ns + kPace_ns;
  text_.clear();
  put_log_record(text_, sample, working_disk_);
  send();
}

void TextLog::send() {
  if (const Status status = file_->write(text_.view()); !status) log::warn(status.error());
}

}  // namespace tacho
