// What goes to swap and comes back, from /proc/vmstat. A machine without swap has nothing to read: the memory probe
// has seen that in the same tick.
#include <unistd.h>

#include "probe/kit/make.h"
#include "probe/system.h"
#include "procfs/vmstat.h"

namespace tacho {
namespace {

enum Field : size_t { in_bytes, out_bytes };

constexpr Column kColumns[] = {
    {272, "system_swap_in_bytes", "bytes", 0, Rule::delta, in_bytes, 1,
     "Bytes brought back from swap in this interval.", nullptr},
    {273, "system_swap_out_bytes", "bytes", 0, Rule::delta, out_bytes, 1, "Bytes sent to swap in this interval.",
     nullptr},
};

class SwapProbe final : public Probe {
 public:
  explicit SwapProbe(ProbeContext& context)
      : context_(context), file_(context.roots.proc + "/vmstat"), page_bytes_(::sysconf(_SC_PAGESIZE)) {}

  void read(Reading& out) override {
    // Once more after the last swap was taken away: it came back all at once.
    const bool none = context_.facts.swap_total_bytes == 0;
    if (!none || !was_none_) {
      std::string_view text;
      if (!file_.read(context_.buffer, text)) return;
      last_ = parse_vmstat(text);
      was_none_ = none;
    }
    set_pages(out, in_bytes, last_.swapped_in);
    set_pages(out, out_bytes, last_.swapped_out);
  }

 private:
  void set_pages(Reading& out, Field field, int64_t pages) const {
    if (pages >= 0) out.set(field, pages < INT64_MAX / page_bytes_ ? pages * page_bytes_ : INT64_MAX);
  }

  ProbeContext& context_;
  KeptFile file_;
  int64_t page_bytes_;
  bool was_none_ = false;  // when last_ was read
  VmStat last_;
};

Status check(const Roots& roots) { return need_file(roots.proc + "/vmstat", kMountProcHint); }

}  // namespace

const ProbeInfo kSwapProbe = {"swap", ProbeDefault::on, "traffic with swap", kColumns, make_probe<SwapProbe>, check};

}  // namespace tacho
