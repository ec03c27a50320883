// What size a job needs, from what its runs used (docs/advice.md): cores by the 95th percentile, memory by the highest
// peak and a margin, time likewise, GPUs by use; how that compares with what was asked for; and the lines to paste. A
// run that tells too little is refused, with the reason. Pure but for reading the rows.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/writer.h"
#include "model/summary.h"
#include "report/store/input.h"

namespace tacho {

// One of cpu (cores), memory (MiB) and gpu (GPUs).
struct Sizing {
  std::string state;                 // "under", "right", "over"; empty: it was not measured
  std::optional<double> asked, had;  // had: that it could use, where nobody asked for a size
  std::optional<double> used;
  std::optional<int64_t> advised;
  std::string risk;  // of the size that it had, in words
};

struct Advice {
  std::vector<std::string> runs, names;  // that count: ids, and as people see them
  std::string refused, hint;             // not empty: why nothing is advised, and what to do
  std::vector<std::string> warnings;
  bool guess = false;  // memory, of a job that the OOM killer ended
  Sizing cpu, memory, gpu;
  std::optional<int64_t> vram_mib;
  std::optional<double> longest_s, mean_s;
  std::optional<int64_t> time_s;  // to ask for
  std::string allocation;         // "dedicated", "shared", or empty: unknown
  // Of each column only the aggregates that count: mean, max, sum; of "timestamp" sum, the duration.
  std::vector<std::pair<std::string, Statistics>> statistics;
};

inline constexpr int64_t kFewestSamples = 10, kShortestSeconds = 10;
inline constexpr size_t kMostRuns = 20;

// Runs that ended well count; the others only where there is none, with a warning.
Advice advise(std::span<const Input> inputs);
bool ended_well(const Run& run);

// "slurm", "kubernetes", "nextflow", "snakemake", "wdl", "docker": lines for such a file, none for another word.
std::vector<std::string> paste_lines(const Advice& advice, std::string_view target);

// For a person, a line for each of cpu, memory, gpu … : "memory", "12 GiB", "peak 9.8 GiB, a quarter more", "over",
// "asked for 32 GiB; memory that nobody uses is paid for". State and judgement may be empty.
struct AdviceLine {
  std::string what, advised, why, state, judgement;
};
std::vector<AdviceLine> advice_lines(const Advice& advice);

std::string advice_text(const Advice& advice, bool color);
// The members of the object that --json prints; others may follow.
void write_advice(JsonWriter& json, const Advice& advice);

}  // namespace tacho
