#include "engine/progress.h"

#include <unistd.h>

#include <cstdio>

#include "base/log.h"
#include "base/units.h"
#include "codec/run_json.h"
#include "os/environment.h"
#include "report/store/human.h"
#include "report/summary_text.h"

namespace tacho {

void Progress::begin(std::optional<int64_t> every_ns, int64_t now_ns) {
  every_ns_ = every_ns;
  start_ns_ = now_ns;
  next_ns_ = every_ns ? now_ns + *every_ns : 0;
}

void Progress::show(const Run& run, const Summary& summary, int64_t now_ns) {
  if (!every_ns_ || now_ns < next_ns_) return;
  next_ns_ = now_ns + *every_ns_;
  std::string line = human_duration(now_ns - start_ns_);
  const bool machine = run.mode == kModeWatch;
  const Statistics cpu = summary.column(machine ? "system_cpu_usage" : "process_cpu_usage");
  const Statistics memory = summary.column(machine ? "system_memory_used_mib" : "process_memory_mib");
  if (!is_absent(cpu.last)) line += " · cpu " + cores_text(cpu.last, kAbsent);
  if (!is_absent(memory.last)) line += " · memory " + human_bytes(memory.last * kMiB);
  const Statistics gpu = summary.column("process_gpu_usage");
  if (!is_absent(gpu.last)) line += " · gpu " + human_number(gpu.last * 100) + "%";
  line += " · " + std::to_string(summary.rows()) + " samples";
  log::error(in_locale(std::move(line)));
}

void print_summary(const Settings& settings, const Run& run, const Summary& summary, const std::string& shown_id,
                   std::string_view limited) {
  const bool color = use_color(settings.color, STDERR_FILENO);
  std::string text;
  Run shown = run;
  shown.id = shown_id;
  if (settings.summary == SummaryStyle::line) text = summary_line(shown, summary, color, limited) + "\n";
  if (settings.summary == SummaryStyle::full) text = summary_full(shown, summary, color, limited) + "\n";
  if (settings.summary == SummaryStyle::json) {
    Writer out(16 * 1024);
    write_run_json(out, run, summary);
    text = std::string(out.view());
  } else {
    text = in_locale(std::move(text));
  }
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace tacho
