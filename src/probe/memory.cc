// Memory of the machine, from /proc/meminfo.
#include <cstdint>

#include "probe/kit/make.h"
#include "probe/kit/scales.h"
#include "probe/system.h"
#include "procfs/meminfo.h"

namespace tacho {
namespace {

enum Field : size_t { free_bytes, used_bytes, buffers_bytes, cached_bytes, active_bytes, inactive_bytes };

constexpr Column kColumns[] = {
    {6, "system_memory_free_mib", "MiB", 1, Rule::level, free_bytes, kToMiB, "Memory that nothing uses.", nullptr},
    {7, "system_memory_used_mib", "MiB", 1, Rule::level, used_bytes, kToMiB,
     "Memory that could not be given to a new program: total less available.", nullptr},
    {8, "system_memory_buffers_mib", "MiB", 1, Rule::level, buffers_bytes, kToMiB,
     "Memory holding raw blocks of disks.", nullptr},
    {9, "system_memory_cached_mib", "MiB", 1, Rule::level, cached_bytes, kToMiB,
     "Memory holding the contents of files, with the kernel's reclaimable caches.", nullptr},
    {10, "system_memory_active_mib", "MiB", 1, Rule::level, active_bytes, kToMiB,
     "Memory used recently, reclaimed last.", nullptr},
    {11, "system_memory_inactive_mib", "MiB", 1, Rule::level, inactive_bytes, kToMiB,
     "Memory not used for a while, reclaimed first.", nullptr},
};

std::optional<int64_t> known(int64_t value) {
  if (value < 0) return std::nullopt;
  return value;
}

class MemoryProbe final : public Probe {
 public:
  explicit MemoryProbe(ProbeContext& context) : context_(context), file_(context.roots.proc + "/meminfo") {}

  void read(Reading& out) override {
    info_ = {};
    std::string_view text;
    if (!file_.read(context_.buffer, text)) return;
    info_ = parse_meminfo(text);
    context_.facts.swap_total_bytes = info_.swap_total;
    set_known(out, free_bytes, info_.free);
    set_known(out, used_bytes, info_.used());
    set_known(out, buffers_bytes, info_.buffers);
    set_known(out, cached_bytes, info_.cached_and_reclaimable());
    set_known(out, active_bytes, info_.active);
    set_known(out, inactive_bytes, info_.inactive);
  }

  void describe(Detail& detail) override {
    detail.memory = {known(info_.total),      known(info_.free),      known(info_.available),
                     known(info_.used()),     known(info_.buffers),   known(info_.cached_and_reclaimable()),
                     known(info_.swap_total), known(info_.swap_free), known(info_.active),
                     known(info_.inactive)};
  }

 private:
  ProbeContext& context_;
  KeptFile file_;
  MemInfo info_;
};

Status check(const Roots& roots) { return need_file(roots.proc + "/meminfo", kMountProcHint); }

}  // namespace

const ProbeInfo kMemoryProbe = {"memory", ProbeDefault::on,        "memory of the machine",
                                kColumns, make_probe<MemoryProbe>, check};

}  // namespace tacho
