// How much of the time work stood still for want of CPU, memory or I/O (PSI, Linux 4.20), from /proc/pressure.
#include "procfs/pressure.h"
#include "base/units.h"
#include "probe/kit/make.h"
#include "probe/kit/stalled_share.h"
#include "probe/system.h"

namespace tacho {
namespace {

enum Field : size_t { cpu_some_us, memory_some_us, memory_full_us, io_some_us, io_full_us };

constexpr Column kColumns[] = {
    {240, "system_pressure_cpu_some", "share", 4, Rule::custom, cpu_some_us, 1,
     "Share of the interval in which some thread waited for a CPU.", stalled_share<cpu_some_us>},
    {241, "system_pressure_memory_some", "share", 4, Rule::custom, memory_some_us, 1,
     "Share of the interval in which some thread waited for memory.", stalled_share<memory_some_us>},
    {242, "system_pressure_memory_full", "share", 4, Rule::custom, memory_full_us, 1,
     "Share of the interval in which all busy threads waited for memory at once.", stalled_share<memory_full_us>},
    {243, "system_pressure_io_some", "share", 4, Rule::custom, io_some_us, 1,
     "Share of the interval in which some thread waited for I/O.", stalled_share<io_some_us>},
    {244, "system_pressure_io_full", "share", 4, Rule::custom, io_full_us, 1,
     "Share of the interval in which all busy threads waited for I/O at once.", stalled_share<io_full_us>},
};

class PressureProbe final : public Probe {
 public:
  explicit PressureProbe(ProbeContext& context)
      : context_(context),
        cpu_(context.roots.proc + "/pressure/cpu"),
        memory_(context.roots.proc + "/pressure/memory"),
        io_(context.roots.proc + "/pressure/io") {}

  void read(Reading& out) override {
    // The kernel makes its averages every two seconds.
    if (context_.pressure_averages && stamp_ns_ > 0 && out.stamp_ns - stamp_ns_ < kAverageNs) return;
    stamp_ns_ = out.stamp_ns;
    last_cpu_ = read_file(cpu_);
    last_memory_ = read_file(memory_);
    last_io_ = read_file(io_);
    set_known(out, cpu_some_us, last_cpu_.some_us);
    set_known(out, memory_some_us, last_memory_.some_us);
    set_known(out, memory_full_us, last_memory_.full_us);
    set_known(out, io_some_us, last_io_.some_us);
    set_known(out, io_full_us, last_io_.full_us);
  }

  void describe(Detail& detail) override {
    detail.pressure = {percent(last_cpu_.some_avg10), percent(last_memory_.some_avg10),
                       percent(last_memory_.full_avg10), percent(last_io_.some_avg10), percent(last_io_.full_avg10)};
  }

 private:
  static std::optional<double> percent(int64_t hundredths) {
    if (hundredths < 0) return std::nullopt;
    return static_cast<double>(hundredths) / 100;
  }
  Pressure read_file(KeptFile& file) {
    std::string_view text;
    return file.read(context_.buffer, text) ? parse_pressure(text) : Pressure{};
  }

  static constexpr int64_t kAverageNs = 2 * kNsPerSec - 50 * kNsPerMs;

  ProbeContext& context_;
  int64_t stamp_ns_ = 0;
  KeptFile cpu_, memory_, io_;
  Pressure last_cpu_, last_memory_, last_io_;
};

Status check(const Roots& roots) {
  return need_file(roots.proc + "/pressure/cpu", "needs Linux 4.20 with CONFIG_PSI; boot with psi=1");
}

}  // namespace

const ProbeInfo kPressureProbe = {"pressure", ProbeDefault::on,          "time lost waiting for CPU, memory and I/O",
                                  kColumns,   make_probe<PressureProbe>, check};

}  // namespace tacho
