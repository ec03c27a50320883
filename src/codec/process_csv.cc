#include "codec/process_csv.h"

#include <sys/wait.h>

#include <algorithm>

#include "base/units.h"
#include "codec/csv.h"
#include "codec/csv_text.h"

namespace tacho {
namespace {

constexpr size_t kLongestName = 64;  // 15 bytes, each of which may have become three

void put_bytes(Writer& out, int64_t bytes) {
  out.put(',');
  if (bytes >= 0) out.put_int(bytes);
}

void put_mib(Writer& out, int64_t bytes) {
  out.put(',');
  if (bytes >= 0) out.put_fixed(static_cast<double>(bytes) / static_cast<double>(kMiB), 3);
}

void put_seconds(Writer& out, int64_t ns) {
  out.put_fixed(static_cast<double>(ns) / static_cast<double>(kNsPerSec), 4);
}

void put_exit(Writer& out, int status) {
  if (status < 0) return;
  if (!WIFSIGNALED(status)) return out.put_int(WEXITSTATUS(status));
  out.put("signal ");
  out.put_int(WTERMSIG(status));
}

}  // namespace

void write_process_line(Writer& out, const ProcessRecord& record, std::string_view name, std::string_view command) {
  if (record.pid > 0) {
    out.put_int(record.pid);
    out.put(',');
    out.put_int(record.ppid);
  } else {
    out.put(',');
  }
  out.put(',');
  put_csv_text(out, name);
  out.put(',');
  out.put(command);
  out.put(',');
  put_unix_seconds(out, record.started_ms * kNsPerMs);
  out.put(',');
  if (record.ended_ms > 0) put_unix_seconds(out, record.ended_ms * kNsPerMs);
  out.put(',');
  out.put_int(record.count);
  out.put(',');
  put_seconds(out, record.cpu_ns);
  put_mib(out, record.peak_bytes);
  put_bytes(out, record.read_bytes);
  put_bytes(out, record.write_bytes);
  put_mib(out, record.vram_bytes);
  out.put(',');
  put_exit(out, record.exit);
  out.put('\n');
}

void write_short_lived_line(Writer& out, int64_t cpu_ns) {
  out.put(",,");
  out.put(kShortLived);
  out.put(",,,,,");
  put_seconds(out, cpu_ns);
  out.put(",,,,,\n");
}

std::string command_field(std::string_view argv) {
  while (argv.ends_with('\0') || argv.ends_with(' ')) argv.remove_suffix(1);
  std::string text(argv);
  std::replace(text.begin(), text.end(), '\0', ' ');
  Writer out(kLongestProcessLine);
  put_csv_text(out, csv_line_text(text, kLongestCommand));
  return std::string(out.view());
}

std::string process_name_text(const ProcessRecord& record) { return csv_line_text(record.name_view(), kLongestName); }

}  // namespace tacho
