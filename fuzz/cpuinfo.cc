// /proc/cpuinfo and what the processor is called.
#include "procfs/cpuinfo.h"

#include "discover/host.h"
#include "target.h"

void fuzz_one(std::string_view text) {
  const tacho::CpuInfo info = tacho::parse_cpuinfo(text);
  require(info.processors >= 0 && info.cluster_count <= info.clusters.size());
  require(is_inside(info.vendor, text) && is_inside(info.model_name, text) && is_inside(info.s390_machine, text) &&
          is_inside(info.isa, text));
  tacho::cpu_model(text);
  tacho::is_dmi_placeholder(text);
}
