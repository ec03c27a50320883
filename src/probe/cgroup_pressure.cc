// How much of the time the job itself stood still for want of CPU, memory or I/O: PSI of its cgroup (Linux 5.2,
// cgroup v2). With a cgroup of its own that is the job's figure; in a shared one it is that of all in it, which
// run.json tells (method.cpu).
#include "probe/kit/make.h"
#include "probe/kit/stalled_share.h"
#include "probe/system.h"
#include "procfs/pressure.h"

namespace tacho {
namespace {

enum Field : size_t { cpu_some_us, memory_some_us, memory_full_us, io_some_us, io_full_us };

constexpr Column kColumns[] = {
    {250, "cgroup_pressure_cpu_some", "share", 4, Rule::custom, cpu_some_us, 1,
     "Share of the interval in which some thread of the job's cgroup waited for a CPU.", stalled_share<cpu_some_us>},
    {251, "cgroup_pressure_memory_some", "share", 4, Rule::custom, memory_some_us, 1,
     "Share of the interval in which some thread of the job's cgroup waited for memory.",
     stalled_share<memory_some_us>},
    {252, "cgroup_pressure_memory_full", "share", 4, Rule::custom, memory_full_us, 1,
     "Share of the interval in which all busy threads of the job's cgroup waited for memory at once.",
     stalled_share<memory_full_us>},
    {253, "cgroup_pressure_io_some", "share", 4, Rule::custom, io_some_us, 1,
     "Share of the interval in which some thread of the job's cgroup waited for I/O.", stalled_share<io_some_us>},
    {254, "cgroup_pressure_io_full", "share", 4, Rule::custom, io_full_us, 1,
     "Share of the interval in which all busy threads of the job's cgroup waited for I/O at once.",
     stalled_share<io_full_us>},
};

class CgroupPressureProbe final : public Probe {
 public:
  explicit CgroupPressureProbe(ProbeContext& context) : context_(context) { choose_files(); }

  void read(Reading& out) override {
    if (context_.cgroup.unified != folder_) {
      // The job runs somewhere else than was thought when the probe was made.
      choose_files();
      out.anew = true;
    }
    if (folder_.empty()) return;
    const Pressure cpu = read_file(cpu_), memory = read_file(memory_), io = read_file(io_);
    set_known(out, cpu_some_us, cpu.some_us);
    set_known(out, memory_some_us, memory.some_us);
    set_known(out, memory_full_us, memory.full_us);
    set_known(out, io_some_us, io.some_us);
    set_known(out, io_full_us, io.full_us);
  }

 private:
  void choose_files() {
    folder_ = context_.cgroup.unified;
    cpu_ = KeptFile(folder_ + "/cpu.pressure");
    memory_ = KeptFile(folder_ + "/memory.pressure");
    io_ = KeptFile(folder_ + "/io.pressure");
  }
  Pressure read_file(KeptFile& file) {
    std::string_view text;
    return file.read(context_.buffer, text) ? parse_pressure(text) : Pressure{};
  }

  ProbeContext& context_;
  std::string folder_;  // that the files were chosen for
  KeptFile cpu_, memory_, io_;
};

Result<std::unique_ptr<Probe>> make(ProbeContext& context) {
  if (context.tree == nullptr) return Error{Code::not_available, "no process is tracked", "", ""};
  return make_probe<CgroupPressureProbe>(context);
}

Status check(const Roots& roots) {
  return need_file(roots.proc + "/pressure/cpu", "needs Linux 5.2 with CONFIG_PSI and cgroup v2; boot with psi=1");
}

}  // namespace

const ProbeInfo kCgroupPressureProbe = {"cgroup_pressure",
                                        ProbeDefault::on,
                                        "time that the job lost waiting for CPU, memory and I/O",
                                        kColumns,
                                        make,
                                        check};

}  // namespace tacho
