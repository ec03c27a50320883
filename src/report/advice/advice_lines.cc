// The lines to paste where a job's size is asked for.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/joined.h"
#include "report/advice/advice.h"

namespace tacho {
namespace {

struct Amounts {
  std::string cpu, mib, mb, time;  // empty: unknown
  int64_t gpus = 0;
};

Amounts amounts_of(const Advice& advice) {
  Amounts amounts;
  if (advice.cpu.advised) amounts.cpu = std::to_string(*advice.cpu.advised);
  if (advice.memory.advised) {
    const int64_t mib = std::max<int64_t>(1, *advice.memory.advised);
    amounts.mib = std::to_string(mib);
    amounts.mb = std::to_string(static_cast<int64_t>(std::ceil(static_cast<double>(mib) * 1.048576)));
  }
  if (advice.time_s) {
    // Schedulers count whole minutes.
    const int64_t minutes = std::max<int64_t>(1, (*advice.time_s + 59) / 60);
    const auto two = [](int64_t value) { return (value < 10 ? "0" : "") + std::to_string(value); };
    amounts.time = two(minutes / 60) + ":" + two(minutes % 60) + ":00";
  }
  amounts.gpus = advice.gpu.advised.value_or(0);
  return amounts;
}

using Lines = std::vector<std::string>;

std::string when(const std::string& value, const std::string& before, const std::string& behind = "") {
  return value.empty() ? "" : before + value + behind;
}
std::string when(int64_t gpus, const std::string& before) { return gpus > 0 ? before + std::to_string(gpus) : ""; }

Lines slurm(const Amounts& a) {
  return {when(a.cpu, "#SBATCH --cpus-per-task="), when(a.mib, "#SBATCH --mem=", "M"), when(a.time, "#SBATCH --time="),
          when(a.gpus, "#SBATCH --gpus=")};
}

Lines kubernetes(const Amounts& a) {
  const std::string cpu = when(a.cpu, "cpu: \"", "\""), memory = when(a.mib, "memory: ", "Mi");
  const std::string gpu = when(a.gpus, "nvidia.com/gpu: ");
  return {"resources: {requests: {" + joined({cpu, memory}, ", ") + "}, limits: {" + joined({cpu, memory, gpu}, ", ") +
          "}}"};
}

Lines nextflow(const Amounts& a) {
  return {"process { " +
          joined({when(a.cpu, "cpus = "), when(a.mib, "memory = '", " MB'"), when(a.gpus, "accelerator = ")}, "; ") +
          " }"};
}

Lines snakemake(const Amounts& a) {
  return {when(a.cpu, "threads: "), when(joined({when(a.mb, "mem_mb="), when(a.gpus, "gpu=")}, ", "), "resources: ")};
}

Lines wdl(const Amounts& a) {
  return {
      "runtime { " +
      joined({when(a.cpu, "cpu: "), when(a.mib, "memory: \"", " MiB\""), when(a.gpus, "gpu: true gpuCount: ")}, " ") +
      " }"};
}

Lines docker(const Amounts& a) {
  const std::string mib = a.mib.size() == 1 && a.mib[0] < '6' ? "6" : a.mib;  // Docker refuses less
  return {"docker run " + joined({when(a.cpu, "--cpus "), when(mib, "--memory ", "m"), when(a.gpus, "--gpus ")}, " ")};
}

struct Target {
  std::string_view name;
  Lines (*lines)(const Amounts& amounts);
};
constexpr auto kTargets = std::to_array<Target>({{"slurm", slurm},
                                                 {"kubernetes", kubernetes},
                                                 {"nextflow", nextflow},
                                                 {"snakemake", snakemake},
                                                 {"wdl", wdl},
                                                 {"docker", docker}});

}  // namespace

std::vector<std::string> paste_lines(const Advice& advice, std::string_view target) {
  if (!advice.refused.empty()) return {};
  for (const Target& known : kTargets) {
    if (known.name != target) continue;
    Lines lines = known.lines(amounts_of(advice));
    std::erase(lines, "");
    return lines;
  }
  return {};
}

}  // namespace tacho
