#include "cli/metrics.h"

#include "cli/concat.h"
#include "probe/all_metrics.h"

namespace tacho {
namespace {

std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

void add_table(std::string& out, std::string_view title, std::string_view intro, const std::vector<Metric>& metrics,
               int first, int last) {
  out += concat({"\n## ", title, "\n", intro, "\n\n| # | column | unit | probe | meaning |\n|---|---|---|---|---|\n"});
  for (const Metric& metric : metrics) {
    const Column& column = *metric.column;
    if (column.position < first || column.position > last) continue;
    out += concat({"| ", std::to_string(column.position), " | `", column.name, "` | ", cell(column.unit), " | ",
                   metric.probe == nullptr ? "" : metric.probe->name, " | ", cell(column.help), " |\n"});
  }
}

}  // namespace

std::string_view default_word(ProbeDefault by_default) {
  return by_default == ProbeDefault::on ? "on" : by_default == ProbeDefault::off ? "off" : "auto";
}

std::string metrics_document() {
  const std::vector<Metric> metrics = all_metrics();
  std::string out =
      "# Metrics\n\nPrinted by `tacho docs metrics` from the probe table; do not edit. An unknown value is an empty "
      "field,\n"
      "never 0. `system_` is the whole machine, `process_` the job's process tree. Bytes and seconds of counters are "
      "what\n"
      "the row's interval added; where a reading failed, its field is empty and the next row that has one adds up "
      "both\n"
      "intervals. Levels are read at the tick and rounded: columns 6 to 11 to one decimal, 14 to 16 to three; CSV, "
      "JSON lines,\n"
      "statistics and uploads say the same number. Called as `resource-tracker`, 6 to 11 and 27 are whole numbers. "
      "While a GPU\n"
      "that was in the sums cannot be read, 19 to 21 and 30 to 32 are empty.\n";
  add_table(out, "The compatible columns", "Always there, in this order.", metrics, 1, 99);
  add_table(out, "Extended columns", "Behind the compatible ones, when their probe is on.", metrics, 100, 199);
  add_table(out, "tacho's own columns", "Last, when their probe is on.", metrics, 200, 1 << 30);
  out +=
      "\n## Probes\n`--probe NAME` turns one on, `--no-probe NAME` off; auto is on where the hardware is.\n\n"
      "| probe | default | meaning |\n|---|---|---|\n";
  for (const ProbeInfo& probe : all_probes())
    out += concat({"| `", probe.name, "` | ", default_word(probe.by_default), " | ", cell(probe.help), " |\n"});
  out += R"(
## Methods
`run.json` says how the job's numbers were obtained.

| word | meaning |
|---|---|
| cpu: `cgroup` | the kernel's own sum of a cgroup made for the job |
| cpu: `subreaper` | the process tree, orphans included, and the exact totals of everything reaped |
| cpu: `attach` | the process tree of something that already ran; what was reaped before is not counted |
| memory: `pss` | proportional: shared pages are divided among those who share them |
| memory: `pss_scaled` | RSS, scaled by the last PSS to RSS ratio to stay inside the time budget |
| memory: `rss` | resident: shared pages count in every process |
| io: `proc_io` | `/proc/PID/io` of the tree |
| io: `proc_io+rusage` | the same, with the last reading of ended processes and what their parents absorbed |
| gpu: `nvml`, `amdgpu`, `none` | the driver that was asked |
)";
  return out;
}

}  // namespace tacho
