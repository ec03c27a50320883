#include "procfs/pid_files.h"

#include <cstring>

namespace tacho {

bool parse_pid_stat(std::string_view text, PidStat& out) {
  const size_t open = text.find('(');
  // rfind() looks at one byte after another, and the bracket is at the other end.
  const void* const bracket = text.empty() ? nullptr : ::memrchr(text.data(), ')', text.size());
  if (open == std::string_view::npos || bracket == nullptr) return false;
  const auto close = static_cast<size_t>(static_cast<const char*>(bracket) - text.data());
  if (close < open) return false;
  int64_t value = 0;
  Scanner head(text.substr(0, open));
  if (!head.number(value)) return false;
  out.pid = static_cast<pid_t>(value);
  out.comm = text.substr(open + 1, close - open - 1);

  Scanner scan(text.substr(close + 1));
  const std::string_view state = scan.word();
  if (state.size() != 1) return false;
  out.state = state[0];
  int64_t ppid = 0, group = 0, session = 0, start = 0;
  const bool good = scan.signed_number(ppid) && scan.signed_number(group) && scan.signed_number(session) &&  // 4, 5, 6
                    scan.skip_words(3) &&                                                                    // 7–9
                    scan.number(out.minor_faults) && scan.number(out.child_minor_faults) &&                  // 10, 11
                    scan.number(out.major_faults) && scan.number(out.child_major_faults) &&                  // 12, 13
                    scan.number(out.utime) && scan.number(out.stime) && scan.signed_number(out.cutime) &&
                    scan.signed_number(out.cstime) && scan.skip_words(2) &&                       // 14–19
                    scan.signed_number(out.threads) && scan.skip_word() && scan.number(start) &&  // 20–22
                    scan.number(out.virtual_bytes) && scan.signed_number(out.rss_pages);          // 23, 24
  if (!good) return false;
  out.ppid = static_cast<pid_t>(ppid);
  out.group = static_cast<pid_t>(group);
  out.session = static_cast<pid_t>(session);
  out.start_time = static_cast<uint64_t>(start);
  out.blkio_ticks = 0;
  int64_t stack = 0, ignored = 0;
  if (scan.skip_words(3) && scan.number(stack) && scan.skip_words(4) && scan.number(ignored) && scan.skip_words(8))
    scan.number(out.blkio_ticks);  // 25–27, 28, 29–32, 33, 34–41, 42
  out.stack_start = static_cast<uint64_t>(stack);
  out.ignored = static_cast<uint64_t>(ignored);
  return true;
}

bool parse_pid_io(std::string_view text, PidIo& out, PidIoCalls* calls) {
  bool read = false, written = false;
  PidIoCalls fresh;
  int seen = 0;
  for (Scanner scan(text); !scan.done(); scan.line()) {
    if (scan.literal("read_bytes:")) read = scan.number(out.read_bytes);
    else if (scan.literal("write_bytes:")) written = scan.number(out.write_bytes);
    else if (calls == nullptr) continue;
    else if (scan.literal("rchar:")) seen += scan.number(fresh.read_chars) ? 1 : 0;
    else if (scan.literal("wchar:")) seen += scan.number(fresh.write_chars) ? 1 : 0;
    else if (scan.literal("syscr:")) seen += scan.number(fresh.read_calls) ? 1 : 0;
    else if (scan.literal("syscw:")) seen += scan.number(fresh.write_calls) ? 1 : 0;
  }
  fresh.known = true;
  if (calls != nullptr && seen == 4) *calls = fresh;
  return read && written;
}

bool parse_pid_status(std::string_view text, PidStatus& out) {
  out = {};
  bool any = false;
  for (Scanner scan(text); !scan.done(); scan.line()) {
    int64_t value = 0;
    if (scan.literal("VmHWM:")) {
      if (scan.number(value) && value < INT64_MAX / 1024) out.peak_rss_bytes = value * 1024, any = true;
    } else if (scan.literal("NSpid:")) {
      while (scan.number(value)) {
        if (out.outermost_pid == 0) out.outermost_pid = static_cast<pid_t>(value);
        out.innermost_pid = static_cast<pid_t>(value);
        any = true;
      }
    } else if (scan.literal("voluntary_ctxt_switches:") || scan.literal("nonvoluntary_ctxt_switches:")) {
      if (scan.number(value) && value < INT64_MAX / 4)
        out.context_switches = out.context_switches.value_or(0) + value, any = true;
    } else if (scan.literal("Pid:")) {
      any = true;
    }
  }
  return any;
}

std::optional<SmapsRollup> parse_smaps_rollup(std::string_view text) {
  SmapsRollup out;
  bool rss = false, pss = false;
  const auto kib = [](Scanner& scan, int64_t& bytes) {
    int64_t value = 0;
    if (!scan.number(value) || value > INT64_MAX / 4096) return false;
    bytes = value * 1024;
    return true;
  };
  for (Scanner scan(text); !scan.done(); scan.line()) {
    if (scan.literal("Rss:")) rss = kib(scan, out.rss_bytes);
    else if (scan.literal("Pss:")) pss = kib(scan, out.pss_bytes);
    else if (scan.literal("Private_Hugetlb:")) kib(scan, out.huge_bytes);
    else if (int64_t part = 0; scan.literal("Private_") && (scan.literal("Clean:") || scan.literal("Dirty:")))
      out.private_bytes += kib(scan, part) ? part : 0;
  }
  if (!rss || !pss) return std::nullopt;
  return out;
}

}  // namespace tacho
