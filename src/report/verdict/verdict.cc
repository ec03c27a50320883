#include "report/verdict/verdict.h"

#include <algorithm>

namespace tacho {
namespace {

using enum Source;

constexpr double kClearly = 0.8 - 1e-9, kMostly = 0.6 - 1e-9;
constexpr int64_t kFewestRows = 5;
constexpr double kBarely = 0.1;  // of the time may lack a source that is not called missing for it

}  // namespace

std::string_view confidence_word(Confidence confidence) {
  return confidence == Confidence::high ? "high" : confidence == Confidence::medium ? "medium" : "low";
}

void ClassTimes::add(const RowClass& row, int64_t ns) {
  const auto limit = static_cast<size_t>(row.limit);
  ns = std::max<int64_t>(0, ns);
  ns_[limit] += ns;
  aspect_ns_[limit][static_cast<size_t>(row.aspect)] += ns;
  total_ns_ += ns;
  ++rows_of_[limit];
  ++rows_;
}

std::string ClassTimes::detail_of(Limit limit) const {
  const auto& times = aspect_ns_[static_cast<size_t>(limit)];
  size_t most = 0;
  for (size_t i = 1; i < kAspects; ++i)
    if (times[i] > (most == 0 ? 0 : times[most])) most = i;
  return std::string(aspect_word(static_cast<Aspect>(most)));
}

Judgement ClassTimes::judge(bool lowered) const {
  Judgement judgement;
  for (size_t i = 0; i < kLimits; ++i)
    if (ns_[i] > 0)
      judgement.classes.push_back(
          {static_cast<Limit>(i), static_cast<double>(ns_[i]) / static_cast<double>(total_ns_)});
  std::stable_sort(judgement.classes.begin(), judgement.classes.end(),
                   [&](const ClassShare& a, const ClassShare& b) { return ns_of(a.limit) > ns_of(b.limit); });
  if (rows_ < kFewestRows || judgement.classes.empty()) return judgement;
  const ClassShare first = judgement.classes[0];
  judgement.verdict = limit_word(first.limit);
  judgement.share = first.share;
  if (first.share >= kMostly || judgement.classes.size() < 2) {
    judgement.detail = detail_of(first.limit);
  } else {
    const ClassShare second = judgement.classes[1];
    judgement.verdict = "mixed";
    judgement.detail = std::string(limit_word(first.limit)) + "+" + std::string(limit_word(second.limit));
    judgement.share = static_cast<double>(ns_of(first.limit) + ns_of(second.limit)) / static_cast<double>(total_ns_);
  }
  int level = judgement.share >= kClearly ? 2 : judgement.share >= kMostly ? 1 : 0;
  if (lowered) level = std::max(0, level - 1);
  judgement.confidence = static_cast<Confidence>(level);
  return judgement;
}

std::optional<RowClass> VerdictFold::add(const Row& row, const JudgedRun& run) {
  const JudgedRow seen = judge_.look(row, run);
  has_rows_ = true;
  has_figures_ = has_figures_ || has_figures(seen);
  const std::optional<RowClass> found = classify(seen, run);
  if (!found) return found;
  times_.add(*found, row.interval_ns);
  if (row.interval_ns <= 0) return found;
  const auto has = [&](Source source) { return !is_absent(seen[source]); };
  if (lacks_own_pressure(seen, run)) foreign_pressure_ns_ += row.interval_ns;
  if (has(waits_cpu) || seen.machine) with_waits_ns_ += row.interval_ns;
  if (seen.machine) machine_ns_ += row.interval_ns;
  if (has(throttled_s)) with_throttling_ns_ += row.interval_ns;
  if (!seen.machine) count_gpus(seen, row.interval_ns);
  for (size_t i = 0; i < kSources; ++i) {
    if (is_absent(seen.value[i])) continue;
    Mean& mean = means_[static_cast<size_t>(found->limit)][i];
    mean.weighted += seen.value[i] * seen.seconds;
    mean.seconds += seen.seconds;
  }
  return found;
}

std::vector<std::string> VerdictFold::missing(const Run& run) const {
  std::vector<std::string> missing;
  const auto total = static_cast<double>(times_.total_ns());
  const auto lacks = [&](int64_t ns) { return static_cast<double>(ns) < (1 - kBarely) * total; };
  const bool machine = is_machine();
  if (static_cast<double>(foreign_pressure_ns_) > kBarely * total)
    missing.push_back(machine ? "pressure of the machine (system_pressure_*)"
                              : "pressure of the job's own cgroup (cgroup_pressure_*): the machine's stands in");
  if (total > 0 && lacks(with_waits_ns_)) missing.push_back("what the job's threads wait for (process_waits_*)");
  else if (!machine && !run.method.waits.empty() && run.method.waits != "syscall")
    missing.push_back("syscall of the job's threads (process_waits_*): told by wchan alone");
  if (run.limits.cpu_quota_cores && !machine && lacks(with_throttling_ns_))
    missing.push_back("throttling by the CPU quota (cgroup_throttled_time)");
  if (total > 0 && is_absent(JudgedRun::of(run).cores))
    missing.push_back("how many cores the job may use (run.json tells, a file of rows does not)");
  add_missing_gpu(missing);
  return missing;
}

void VerdictFold::count_gpus(const JudgedRow& seen, int64_t ns) {
  if (is_absent(seen[gpus_used])) {
    if (with_gpu_ns_ > 0) lost_gpu_ns_ += ns;
    if (seen[gpus_busy] >= 1) somebodys_gpu_ns_ += ns;
  } else if (seen[gpus_used] >= 1) {
    with_gpu_ns_ += ns;
    if (!is_absent(seen[sm_active]) || !is_absent(seen[job_sm_active])) with_gpm_ns_ += ns;
  }
}

// GPM tells its first figure a few rows after the job's first look at a GPU: half of them is enough.
void VerdictFold::add_missing_gpu(std::vector<std::string>& missing) const {
  const auto total = static_cast<double>(times_.total_ns());
  if (with_gpu_ns_ > 0 && with_gpm_ns_ * 2 < with_gpu_ns_)
    missing.emplace_back("GPM, what the GPU's units do (system_gpu_sm_active)");
  if (static_cast<double>(lost_gpu_ns_) > kBarely * total)
    missing.emplace_back("the job's GPUs (process_gpu_*): the driver did not tell any more");
  else if (with_gpu_ns_ == 0 && static_cast<double>(somebodys_gpu_ns_) > kBarely * total)
    missing.emplace_back("whose GPU was busy (process_gpu_utilized)");
}

double VerdictFold::mean(Source source, Limit limit) const {
  const Mean& mean = means_[static_cast<size_t>(limit)][static_cast<size_t>(source)];
  return mean.seconds > 0 ? mean.weighted / mean.seconds : kAbsent;
}

double VerdictFold::mean(Source source) const {
  Mean sum;
  for (const auto& of_class : means_) {
    sum.weighted += of_class[static_cast<size_t>(source)].weighted;
    sum.seconds += of_class[static_cast<size_t>(source)].seconds;
  }
  return sum.seconds > 0 ? sum.weighted / sum.seconds : kAbsent;
}

}  // namespace tacho
