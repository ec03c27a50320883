#include "report/store/phase_text.h"

#include <algorithm>

#include "base/text.h"
#include "model/column.h"
#include "os/text_table.h"
#include "report/store/human.h"

namespace tacho {
namespace {

constexpr std::string_view kIndent = "  ";

std::string when_known(double value, std::string (*text)(double)) { return is_absent(value) ? "-" : text(value); }

std::string mib_text(double mib) { return bytes_text(mib * 1024 * 1024); }

std::vector<std::string> row_of(const Phase& phase) {
  return {std::string(kIndent) + harmless_text(phase.name), when_known(phase.ended_s - phase.started_s, duration_text),
          when_known(phase.cpu_s, duration_text),           when_known(phase.cpu_mean, number_text),
          when_known(phase.memory_peak_mib, mib_text),      when_known(phase.disk_read_bytes, bytes_text),
          when_known(phase.disk_write_bytes, bytes_text)};
}

}  // namespace

std::string phase_table(const Run& run, size_t width) {
  if (run.phases.empty()) return {};
  const bool gpu =
      std::any_of(run.phases.begin(), run.phases.end(), [](const Phase& p) { return !is_absent(p.gpu_mean); });
  Table table{{"  phase", "time", "cpu time", "cores", "memory", "read", "written"}, {}, Overlong::cut};
  table.right_from = 1;
  table.firm = {false, true, true, true, true, true, true, true};
  if (gpu) table.header.emplace_back("gpu");
  for (const Phase& phase : run.phases) {
    table.rows.push_back(row_of(phase));
    if (gpu) table.rows.back().push_back(when_known(phase.gpu_mean, number_text));
  }
  return table.text(false, width);
}

}  // namespace tacho
