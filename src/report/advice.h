// What size a job needs, from what its runs used: cores by the mean, memory by the peak and a fifth more, GPUs by the
// peak of those that were used. Several runs count together: means are averaged, of maxima the highest counts. What was
// not measured is not advised on. Pure but for reading the rows, from which the 95th percentile comes.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/summary.h"
#include "report/input.h"

namespace tacho {

struct Advice {
  std::vector<std::string> runs, names;  // ids, and as people see them
  // Of each column only the aggregates that count: mean, max, sum; of "timestamp" sum, the duration.
  std::vector<std::pair<std::string, Statistics>> statistics;
  std::optional<int64_t> cpu, cpu_p95, memory_mib;
  int64_t gpu = 0, vram_mib = 0;
  std::string allocation;                           // "dedicated", "shared", or empty: unknown
  std::optional<double> had_cores, had_memory_mib;  // the most that one of the runs could use
};

Advice advise(std::span<const Input> inputs);

// The smallest of 128, 256, 512, 1024, 2048 that is enough; above that the next multiple of 1024.
int64_t round_memory(double mib);

std::string advice_text(const Advice& advice, bool color);
std::string advice_json(const Advice& advice);

}  // namespace tacho
