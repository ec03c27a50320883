// Load average and threads alive, from /proc/loadavg.
#include "probe/make.h"
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
  explicit LoadProbe(ProbeContext& context) : context_(context), file_(context.roots.proc + "/loadavg") {}

  void read(Reading& out) override {
    context_.facts.threads = -1;
    std::string_view text;
    if (!file_.read(context_.buffer, text)) return;
    const LoadAverage load = parse_loadavg(text);
    set_known(out, load1_hundredths, load.load1_hundredths);
    context_.facts.threads = load.threads;
  }

 private:
  ProbeContext& context_;
  KeptFile file_;
};

Status check(const Roots& roots) { return need_file(roots.proc + "/loadavg", kMountProcHint); }

}  // namespace

const ProbeInfo kLoadProbe = {"load", ProbeDefault::on, "load average of the machine", kColumns,
                              make_probe<LoadProbe>, check};

}  // namespace tacho
