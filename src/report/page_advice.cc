#include "report/page_advice.h"

#include "base/units.h"
#include "report/advice.h"
#include "report/facts.h"
#include "report/human.h"

namespace tacho {
namespace {

// Its percentile holds every row; of so many the 95th is asked with `tacho advise`.
constexpr int64_t kMostRows = 1'000'000, kFewestRows = 10;

std::string mib_words(double mib) { return bytes_text(mib * static_cast<double>(kMiB)); }

std::vector<std::pair<std::string, std::string>> ready_lines(const Advice& advice) {
  const std::string cpu = std::to_string(advice.cpu_p95.value_or(advice.cpu.value_or(1)));
  const std::string mib = std::to_string(advice.memory_mib.value_or(1024));
  const std::string gpu = std::to_string(advice.gpu);
  const bool gpus = advice.gpu > 0;
  return {
      {"Slurm",
       "#SBATCH --cpus-per-task=" + cpu + "\n#SBATCH --mem=" + mib + "M" + (gpus ? "\n#SBATCH --gpus=" + gpu : "")},
      {"Kubernetes", "resources:\n  requests:\n    cpu: \"" + cpu + "\"\n    memory: " + mib +
                         "Mi\n  limits:\n    memory: " + mib + "Mi" + (gpus ? "\n    nvidia.com/gpu: " + gpu : "")},
      {"Nextflow", "process {\n  cpus = " + cpu + "\n  memory = '" + mib + " MB'" +
                       (gpus ? "\n  accelerator = " + gpu : "") + "\n}"},
      {"Snakemake", "threads: " + cpu + "\nresources: mem_mb=" + mib + (gpus ? ", gpu=" + gpu : "")},
      {"WDL",
       "runtime {\n  cpu: " + cpu + "\n  memory: \"" + mib + " MiB\"" + (gpus ? "\n  gpuCount: " + gpu : "") + "\n}"},
      {"Docker", "docker run --cpus " + cpu + " --memory " + mib + "m" + (gpus ? " --gpus " + gpu : "")},
  };
}

}  // namespace

PageAdvice page_advice(const Input& input) {
  PageAdvice page;
  if (input.stored.run.mode == "watch") {
    page.refused = "The machine was watched, no job.";
    return page;
  }
  const double seconds = facts_of(input.stored).duration_s;
  if (input.stored.rows < kFewestRows || seconds < 10) {
    page.refused = "The run was too short for advice: it takes 10 samples and 10 seconds.";
    return page;
  }
  if (input.stored.rows > kMostRows) {
    page.refused = "Of so many rows advice is made by: tacho advise " + input.stored.shown_id();
    return page;
  }
  const Advice advice = advise({&input, 1});
  const auto mean_max = [&](std::string_view column) { return statistics_of(input.stored, column); };
  if (advice.cpu) {
    std::string why = "used " + number_text(mean_max("process_cpu_usage").mean) + " cores on average";
    if (advice.cpu_p95) why += ", at most " + std::to_string(*advice.cpu_p95) + " for 95 % of the time";
    if (advice.had_cores) why += "; it could use " + number_text(*advice.had_cores);
    const int64_t cores = advice.cpu_p95.value_or(*advice.cpu);
    page.lines.push_back({"CPU", std::to_string(cores) + (cores == 1 ? " core" : " cores"), why});
  }
  if (advice.memory_mib) {
    std::string why = "peak " + bytes_text(facts_of(input.stored).memory_peak_bytes) + " and a fifth more";
    if (advice.had_memory_mib) why += "; it could use " + mib_words(*advice.had_memory_mib);
    page.lines.push_back({"Memory", mib_words(static_cast<double>(*advice.memory_mib)), why});
  }
  if (advice.gpu > 0)
    page.lines.push_back({"GPU", std::to_string(advice.gpu) + (advice.gpu == 1 ? " GPU" : " GPUs"),
                          "used " + number_text(mean_max("process_gpu_usage").mean) + " on average"});
  if (page.lines.empty()) page.refused = "Its rows tell nothing of a job.";
  else page.ready = ready_lines(advice);
  return page;
}

}  // namespace tacho
