#include "export/snakemake.h"

#include <cstdio>
#include <vector>

#include "base/units.h"
#include "export/shortest.h"

namespace tacho {
namespace {

struct BenchmarkCell {
  const char* name;
  std::optional<double> value;
  int decimals;
};

std::optional<double> mib(const std::optional<int64_t>& bytes) {
  if (!bytes) return std::nullopt;
  return static_cast<double>(*bytes) / static_cast<double>(kMiB);
}

// "0:01:12", "1 day, 0:00:01", "2 days, 3:04:05": whole seconds, cut.
std::string clock_text(int64_t ms) {
  const int64_t seconds = ms / 1000, days = seconds / 86400;
  char text[64];
  std::snprintf(text, sizeof(text), "%d:%02d:%02d", static_cast<int>(seconds / 3600 % 24),
                static_cast<int>(seconds / 60 % 60), static_cast<int>(seconds % 60));
  if (days == 0) return text;
  return std::to_string(days) + (days == 1 ? " day, " : " days, ") + text;
}

// All but the first two, in the order of the file.
std::vector<BenchmarkCell> columns(const JobFigures& job) {
  const Totals& totals = job.run.totals;
  const bool is_pss = job.run.method.memory.starts_with("pss");
  std::optional<double> load = job.cores();
  if (load) *load *= 100;
  return {{"max_rss", mib(totals.memory_peak_bytes), 2},
          {"max_vms", mib(totals.virtual_peak_bytes), 2},
          {"max_uss", mib(totals.uss_peak_bytes), 2},
          {"max_pss", is_pss ? mib(totals.memory_peak_bytes) : std::nullopt, 2},
          {"io_in", mib(totals.io_read_bytes), 2},
          {"io_out", mib(totals.io_write_bytes), 2},
          {"mean_load", load, 2},
          {"cpu_time", job.cpu_s(), 2}};
}

}  // namespace

std::string snakemake_header() {
  return "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n";
}

std::string snakemake_line(const JobFigures& job) {
  char number[64];
  std::snprintf(number, sizeof(number), "%.4f", ms_as_seconds(job.duration_ms));
  std::string line = std::string(number) + "\t" + clock_text(job.duration_ms);
  for (const BenchmarkCell& column : columns(job)) {
    if (column.value) std::snprintf(number, sizeof(number), "\t%.*f", column.decimals, *column.value);
    line += column.value ? number : "\tNA";
  }
  return line + "\n";
}

std::string snakemake_json_line(const JobFigures& job) {
  const std::vector<BenchmarkCell> all = columns(job);
  const auto text = [&](const char* name) {
    for (const BenchmarkCell& column : all)
      if (std::string_view(column.name) == name)
        return "\"" + std::string(name) + "\": " + (column.value ? shortest_decimal(*column.value, true) : "\"NA\"");
    return std::string();
  };
  return "{" + text("cpu_time") + ", \"h:m:s\": \"" + clock_text(job.duration_ms) + "\", " + text("io_in") + ", " +
         text("io_out") + ", " + text("max_pss") + ", " + text("max_rss") + ", " + text("max_uss") + ", " +
         text("max_vms") + ", " + text("mean_load") +
         ", \"s\": " + shortest_decimal(ms_as_seconds(job.duration_ms), true) + "}\n";
}

}  // namespace tacho
