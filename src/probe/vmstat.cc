// Page faults that had to wait for a disk, from /proc/vmstat.
#include "procfs/vmstat.h"
#include "probe/kit/make.h"
#include "probe/system.h"

namespace tacho {
namespace {

enum Field : size_t { major_faults };

constexpr Column kColumns[] = {
    {105, "system_major_page_faults", "count", 0, Rule::delta, major_faults, 1,
     "Page faults in this interval that had to read from a disk.", nullptr},
};

class VmstatProbe final : public Probe {
 public:
  explicit VmstatProbe(ProbeContext& context) : context_(context), file_(context.roots.proc + "/vmstat") {}

  void read(Reading& out) override {
    std::string_view text;
    if (file_.read(context_.buffer, text)) set_known(out, major_faults, parse_vmstat(text).major_faults);
  }

 private:
  ProbeContext& context_;
  KeptFile file_;
};

Status check(const Roots& roots) { return need_file(roots.proc + "/vmstat", kMountProcHint); }

}  // namespace

const ProbeInfo kVmstatProbe = {"vmstat", ProbeDefault::off,       "major page faults of the machine",
                                kColumns, make_probe<VmstatProbe>, check};

}  // namespace tacho
