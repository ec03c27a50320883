#include <csignal>

#include "base/units.h"
#include "base/writer.h"
#include "report/store/human.h"
#include "report/verdict/verdict.h"

namespace tacho {
namespace {

using enum Source;
enum class Compared : uint8_t { or_more, less_than, to_another };
using enum Compared;
enum class Per : uint8_t { plain, core, second };  // what the threshold is multiplied by

// One condition of a rule, for the evidence: the threshold is in the unit of the column.
struct EvidenceRule {
  Limit limit;
  Source source;
  Compared compared;
  double threshold;
  Per per;
  std::string_view text;
};

constexpr double kWorthSaying = 0.1;  // a class with less of the time speaks against nothing
constexpr double kBytesSwapped = 1e6;
constexpr double kFullMemory = 0.6;  // DRAM active

// The rules' conditions in the order in which a person wants to hear of them; the own pressure or the machine's,
// whichever the rows were judged by.
constexpr auto kConditions = std::to_array<EvidenceRule>({
    {Limit::memory, own_memory, or_more, 0.1, Per::plain, "of the time all of the job stood still for memory"},
    {Limit::memory, machine_memory, or_more, 0.1, Per::plain, "of the time all of the machine stood still for memory"},
    {Limit::memory, oom_kills, or_more, 1, Per::plain, "processes were killed by the kernel for memory"},
    {Limit::memory, swap_in, or_more, kBytesSwapped, Per::second, "were brought back from swap"},
    {Limit::memory, swap_out, or_more, kBytesSwapped, Per::second, "were sent to swap"},
    {Limit::memory, process_faults, or_more, 10, Per::second, "page faults of the job had to read"},
    {Limit::memory, system_faults, or_more, 10, Per::second, "page faults of the machine had to read"},
    {Limit::cpu_quota, throttled_s, or_more, 0.05, Per::second, "seconds the quota held the job back"},
    {Limit::gpu_compute, job_sm_active, or_more, 0.6, Per::plain,
     "of the multiprocessors were busy on the job's busiest GPU"},
    {Limit::gpu_compute, sm_active, or_more, 0.6, Per::plain, "of the multiprocessors were busy"},
    {Limit::gpu_compute, job_tensor_active, or_more, 0.4, Per::plain,
     "of the time tensor cores were busy on the job's busiest GPU"},
    {Limit::gpu_compute, tensor_active, or_more, 0.4, Per::plain, "of the time tensor cores were busy"},
    {Limit::gpu_memory_bandwidth, job_dram_active, or_more, kFullMemory, Per::plain,
     "of the memory's bandwidth was used on the job's busiest GPU"},
    {Limit::gpu_memory_bandwidth, dram_active, or_more, kFullMemory, Per::plain,
     "of the GPU memory's bandwidth was used"},
    {Limit::pcie, job_pcie, or_more, 0.6, Per::plain, "of the PCIe link's speed was used on the job's busiest GPU"},
    {Limit::pcie, pcie_rx, to_another, 0, Per::plain, "came over PCIe, compared with 0.6 of the link"},
    {Limit::pcie, pcie_tx, to_another, 0, Per::plain, "went over PCIe, compared with 0.6 of the link"},
    {Limit::nvlink, job_nvlink, or_more, 0.6, Per::plain,
     "of the NVLink links' speed was used on the job's busiest GPU"},
    {Limit::nvlink, nvlink_rx, to_another, 0, Per::plain, "came over NVLink, compared with 0.6 of the links"},
    {Limit::nvlink, nvlink_tx, to_another, 0, Per::plain, "went over NVLink, compared with 0.6 of the links"},
    {Limit::disk, own_io, or_more, 0.2, Per::plain, "of the time some thread of the job stood still for I/O"},
    {Limit::disk, machine_io, or_more, 0.2, Per::plain, "of the time some thread of the machine stood still for I/O"},
    {Limit::disk, waits_disk, or_more, 1, Per::plain, "threads waited for a disk"},
    {Limit::network, net_busiest, or_more, 0.7, Per::plain, "of an interface's speed was used"},
    {Limit::network, waits_network, or_more, 1, Per::plain, "threads waited for a peer"},
    {Limit::lock, waits_lock, or_more, 2, Per::plain, "threads waited for a lock"},
    {Limit::cpu, process_cpu, or_more, 0.9, Per::core, "cores were kept busy by the job"},
    {Limit::cpu, system_cpu, or_more, 0.9, Per::core, "cores were busy"},
    {Limit::cpu, own_cpu, or_more, 0.3, Per::plain, "of the time some thread of the job waited for a core"},
    {Limit::cpu, machine_cpu, or_more, 0.3, Per::plain, "of the time some thread of the machine waited for a core"},
    {Limit::single_thread, process_cpu, less_than, 1.15, Per::plain,
     "cores were kept busy by the job, which may use more"},
    {Limit::single_thread, own_cpu, to_another, 0, Per::plain, "of the time some thread of the job waited for a core"},
    {Limit::waiting, process_cpu, less_than, 0.1, Per::plain, "cores were kept busy by the job"},
});

std::string amount_text(Source source, double value) {
  const std::string_view name = column_of(source);
  if (name.ends_with("_bytes")) return bytes_text(value);
  Writer out;
  if (name.find("_pressure_") != name.npos || name.ends_with("_active") || name.ends_with("_busiest")) {
    out.put_fixed(100 * value, value < 0.1 - 1e-9 ? 1 : 0);
    out.put(" %");
    return std::string(out.view());
  }
  out.put_fixed(value, value < 10 ? 2 : 0);
  return std::string(out.view());
}

bool holds(const Evidence& evidence, Compared compared) {
  if (compared == to_another || is_absent(evidence.threshold)) return evidence.value > 0;
  return compared == or_more ? evidence.value >= evidence.threshold - 1e-9 : evidence.value <= evidence.threshold;
}

Source state_of(std::string_view word) {
  for (size_t i = static_cast<size_t>(waits_cpu); i <= static_cast<size_t>(waits_other); ++i)
    if (column_of(static_cast<Source>(i)).substr(std::string_view("process_waits_").size()) == word)
      return static_cast<Source>(i);
  return waits_other;
}

Evidence make_evidence(const EvidenceRule& condition, double value, double cores, double interval_s) {
  const double factor = condition.per == Per::core ? cores : condition.per == Per::second ? interval_s : 1;
  Evidence evidence{column_of(condition.source), value, kAbsent, ""};
  if (condition.compared != to_another) evidence.threshold = condition.threshold * factor;
  evidence.text = amount_text(condition.source, value) + " " + std::string(condition.text);
  if (!is_absent(evidence.threshold))
    evidence.text += (condition.compared == or_more ? ", at least " : ", at most ") +
                     amount_text(condition.source, evidence.threshold) + " counts";
  return evidence;
}

// The pressure that the rows were judged by is the job's own or the machine's, not both.
bool is_of_other_kind(Source source, bool own, bool machine) {
  switch (source) {
    case own_cpu:
    case own_memory:
    case own_io: return !own || machine;
    case machine_cpu:
    case machine_memory:
    case machine_io: return own && !machine;
    case process_cpu:
    case process_faults:
    case throttled_s: return machine;
    case system_cpu:
    case system_faults: return !machine;
    default: return false;
  }
}

// A job that its time limit ended, or a signal that is not the OOM killer's, lost a process to that at the most.
bool ended_for_memory(const Outcome& outcome) {
  return outcome.oom_killed.value_or(false) && outcome.state == RunState::failed && !outcome.timed_out &&
         outcome.signal.value_or(SIGKILL) == SIGKILL;
}

}  // namespace

std::vector<Evidence> VerdictFold::evidence(Limit limit, Over over, const Judgement& judgement,
                                            const JudgedRun& run) const {
  std::vector<Evidence> strong, all;
  const int64_t rows = over == Over::all_rows ? times_.rows() : times_.rows_of(limit);
  const int64_t ns = over == Over::all_rows ? times_.total_ns() : times_.ns_of(limit);
  const double interval_s = rows > 0 ? as_seconds(ns) / static_cast<double>(rows) : 1;
  const bool own = run.own_cgroup && foreign_pressure_ns_ * 2 < times_.total_ns();
  const auto take = [&](const EvidenceRule& condition) {
    const double value = over == Over::all_rows ? mean(condition.source) : mean(condition.source, limit);
    if (is_absent(value)) return;
    all.push_back(make_evidence(condition, value, run.cores, interval_s));
    // Over all rows a mean is thinned by those of other classes.
    const Evidence in_its_rows{"", mean(condition.source, limit), all.back().threshold, ""};
    if (holds(in_its_rows, condition.compared)) strong.push_back(all.back());
  };
  for (const EvidenceRule& condition : kConditions)
    if (condition.limit == limit && !is_of_other_kind(condition.source, own, is_machine())) take(condition);
  if (limit == Limit::waiting && !judgement.detail.empty() && judgement.verdict == "waiting")
    take({limit, state_of(judgement.detail), to_another, 0, Per::plain, "threads waited like this"});
  return strong.empty() ? all : strong;
}

void VerdictFold::add_evidence(Verdict& verdict, const JudgedRun& run) const {
  const Judgement& judgement = verdict.judgement;
  if (judgement.verdict == "unknown") return;
  const bool mixed = judgement.verdict == "mixed";
  for (size_t i = 0; i < judgement.classes.size(); ++i) {
    const ClassShare& share = judgement.classes[i];
    if (i == 0 || (mixed && i == 1)) {
      const auto found = evidence(share.limit, mixed ? Over::all_rows : Over::its_rows, judgement, run);
      verdict.evidence.insert(verdict.evidence.end(), found.begin(), found.end());
    } else if (share.share >= kWorthSaying) {
      auto found = evidence(share.limit, Over::its_rows, judgement, run);
      if (found.empty()) continue;
      found[0].text = std::string(limit_word(share.limit)) + " (" + number_text(100 * share.share) +
                      " % of the time): " + found[0].text;
      verdict.against.push_back(std::move(found[0]));
    }
  }
  add_full_memory(verdict);
  // Two classes may rest on the same column.
  for (size_t i = 0; i < verdict.evidence.size(); ++i)
    for (size_t j = verdict.evidence.size(); --j > i;)
      if (verdict.evidence[j].metric == verdict.evidence[i].metric)
        verdict.evidence.erase(verdict.evidence.begin() + static_cast<std::ptrdiff_t>(j));
}

// Multiprocessors that only wait for the GPU's memory are busy, too (docs/bottlenecks.md).
void VerdictFold::add_full_memory(Verdict& verdict) const {
  if (verdict.judgement.verdict != limit_word(Limit::gpu_compute)) return;
  for (const Source source : {job_dram_active, dram_active}) {
    const double used = mean(source, Limit::gpu_compute);
    if (!(used >= kFullMemory)) continue;
    verdict.against.push_back(
        {column_of(source), used, kFullMemory,
         amount_text(source, used) + " of the GPU memory's bandwidth was used as well: the memory may be the limit"});
    return;
  }
}

// The rows may have ended before the one in which it happened: the memory that was used speaks for itself.
void VerdictFold::add_oom_evidence(Verdict& verdict, const Run& run) const {
  if (const double kills = mean(oom_kills); kills > 0)
    verdict.evidence.push_back(
        {column_of(oom_kills), kills, 1, "the kernel killed a process of the job for want of memory"});
  const double peak_mib =
      run.totals.memory_peak_bytes ? static_cast<double>(*run.totals.memory_peak_bytes) / kMiB : kAbsent;
  const double limit_mib =
      run.limits.memory_limit_bytes ? static_cast<double>(*run.limits.memory_limit_bytes) / kMiB : kAbsent;
  const double used = mean(memory_mib);
  if (is_absent(used) && !verdict.evidence.empty()) return;
  std::string text = "the kernel ended the job for want of memory";
  if (!is_absent(peak_mib)) text += ", at a peak of " + bytes_text(peak_mib * kMiB);
  if (!is_absent(limit_mib)) text += ", with a limit of " + bytes_text(limit_mib * kMiB);
  verdict.evidence.push_back({column_of(memory_mib), is_absent(used) ? peak_mib : used, limit_mib, std::move(text)});
}

Verdict VerdictFold::verdict(const Run& run) const {
  Verdict verdict;
  verdict.run = run.id;
  verdict.missing = missing(run);
  verdict.judgement = times_.judge(!verdict.missing.empty());
  if (ended_for_memory(run.outcome)) {
    Judgement& judgement = verdict.judgement;
    judgement.verdict = limit_word(Limit::memory);
    judgement.detail = "oom";
    judgement.confidence = Confidence::high;
    judgement.share = 0;
    for (const ClassShare& share : judgement.classes)
      if (share.limit == Limit::memory) judgement.share = share.share;
    add_oom_evidence(verdict, run);
  } else {
    add_evidence(verdict, JudgedRun::of(run));
  }
  verdict.advice = advice_for(verdict.judgement);
  if (has_rows_ && !has_figures_ && verdict.judgement.verdict == "unknown") {
    verdict.missing = {"every column that the rules look at (process_cpu_usage, process_waits_disk and others)"};
    verdict.why_unknown = "its rows have no column that tells";
    verdict.advice = "record it with tacho run, whose rows have these columns";
  }
  return verdict;
}

}  // namespace tacho
