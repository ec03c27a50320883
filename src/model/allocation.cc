#include "model/allocation.h"

#include <array>

#include "model/column.h"

namespace tacho {
namespace {

struct Pair {
  std::string_view system, process;
  double factor, margin;
};
constexpr auto kPairs = std::to_array<Pair>({{"system_cpu_usage", "process_cpu_usage", 1.25, 0.25},
                                             {"system_memory_used_mib", "process_memory_mib", 1.5, 512},
                                             {"system_gpu_usage", "process_gpu_usage", 1.25, 0.2},
                                             {"system_gpu_vram_mib", "process_gpu_vram_mib", 1.25, 512}});

}  // namespace

std::string_view guess_allocation(const std::function<double(std::string_view column)>& mean_of) {
  std::string_view guess;
  for (const Pair& pair : kPairs) {
    const double system = mean_of(pair.system), process = mean_of(pair.process);
    if (is_absent(system) || is_absent(process)) continue;
    if (system > process * pair.factor || system > process + pair.margin) return "shared";
    guess = "dedicated";
  }
  return guess;
}

std::string_view allocation_reason(std::string_view guess) {
  return guess == "shared" ? "a guess: the machine used clearly more than the job"
                           : "a guess: hardly anything else used the machine";
}

}  // namespace tacho
