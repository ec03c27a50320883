// Load average. sysinfo(2) has it for a fraction of the cost of /proc/loadavg, which is read where it
// is not the kernel's own (a container manager may mount another file there).
#include "os/load.h"
#include "probe/kit/make.h"
#include "probe/system.h"
#include "procfs/loadavg.h"

namespace tacho {
namespace {

enum Field : size_t { load1_hundredths };

constexpr Column kColumns[] = {
    {101, "system_load1", "threads", 2, Rule::level, load1_hundredths, 0.01,
     "Threads running, waiting for a CPU or for a disk, averaged over the last minute.", nullptr},
};

class LoadProbe final : public Probe {
 public:
  explicit LoadProbe(ProbeContext& context)
      : context_(context), file_(context.roots.proc + "/loadavg"), by_call_(is_kernels_own_proc(file_.path())) {}

  void read(Reading& out) override {
    if (by_call_) {
      if (const auto load = load1_of_machine()) out.set(load1_hundredths, *load);
      return;
    }
    std::string_view text;
    if (!file_.read(context_.buffer, text)) return;
    set_known(out, load1_hundredths, parse_loadavg(text).load1_hundredths);
  }

 private:
  ProbeContext& context_;
  KeptFile file_;
  bool by_call_;
};

Status check(const Roots& roots) { return need_file(roots.proc + "/loadavg", kMountProcHint); }

}  // namespace

const ProbeInfo kLoadProbe = {"load",   ProbeDefault::on,      "load average of the machine",
                              kColumns, make_probe<LoadProbe>, check};

}  // namespace tacho
