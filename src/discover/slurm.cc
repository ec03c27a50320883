// A Slurm job's identity and size (seen with 22.05): arrays, heterogeneous jobs, steps and their tasks.
#include "base/text.h"
#include "discover/starter_values.h"

namespace tacho {
namespace {

constexpr int kMostComponents = 128;

// Of a heterogeneous job SLURM_JOB_ID is the leader's in every component: which one this is, the node tells.
std::optional<int> component(const Variables& v) {
  const std::string node = v.text("SLURMD_NODENAME");
  for (int n = 0; n < kMostComponents; ++n) {
    const std::string list = v.all().variable("SLURM_JOB_NODELIST_HET_GROUP_" + std::to_string(n));
    if (list.empty()) return std::nullopt;  // they are numbered without gaps
    if (!node.empty() && is_in_host_list(list, node)) return n;
  }
  return std::nullopt;
}

// Sizes: a component's own; the plain variables are the leader's.
class Sizes {
 public:
  Sizes(const Variables& v, std::optional<int> component) : v_(v), component_(component) {}
  std::optional<int64_t> number(const std::string& name) const {
    if (!component_) return v_.number(name);
    const auto own = v_.number(name + "_HET_GROUP_" + std::to_string(*component_));
    return own || *component_ > 0 ? own : v_.number(name);
  }

 private:
  const Variables& v_;
  std::optional<int> component_;
};

// "0,1" and "0-3" alike.
std::optional<int64_t> count_entries(const std::string& list) {
  if (list.empty()) return std::nullopt;
  int64_t count = 0;
  for (const std::string_view entry : split(list, ',')) {
    const size_t dash = entry.find('-');
    const auto first = parse_int<int64_t>(entry.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_int<int64_t>(entry.substr(dash + 1));
    count += first && last && *last >= *first && *last - *first < 4096 ? *last - *first + 1 : 1;
  }
  return count;
}

// The first of "72(x2),36".
std::optional<int64_t> first_count(const std::string& list) {
  return parse_int<int64_t>(std::string_view(list).substr(0, list.find_first_of("(,")));
}

void read_size(const Variables& v, std::optional<int> part, RequestedSize& asked) {
  const Sizes sizes(v, part);
  auto on_node = v.number("SLURM_CPUS_ON_NODE");  // set on the node, for the node
  if (!on_node) on_node = first_count(v.text("SLURM_JOB_CPUS_PER_NODE"));
  const auto cpus = v.has("SLURM_STEP_ID") ? std::optional(sizes.number("SLURM_CPUS_PER_TASK").value_or(1)) : on_node;
  if (cpus && *cpus > 0) asked.cpus = static_cast<double>(*cpus);

  asked.gpus = v.number("SLURM_GPUS_ON_NODE");
  if (!asked.gpus) asked.gpus = count_entries(v.first("SLURM_STEP_GPUS", "SLURM_JOB_GPUS"));
  if (!asked.gpus) asked.gpus = 0;  // none is granted unasked

  constexpr int64_t kMost = int64_t{1} << 40;
  const auto mib = [&]() -> std::optional<int64_t> {
    if (const auto whole = sizes.number("SLURM_MEM_PER_NODE")) return *whole > 0 ? whole : std::nullopt;
    if (const auto each = sizes.number("SLURM_MEM_PER_CPU"); each && on_node && *each < kMost && *on_node < kMost)
      return static_cast<int64_t>(static_cast<double>(*each) * static_cast<double>(*on_node));
    if (const auto each = sizes.number("SLURM_MEM_PER_GPU"); each && *each < kMost && *asked.gpus < kMost)
      return static_cast<int64_t>(static_cast<double>(*each) * static_cast<double>(*asked.gpus));
    return std::nullopt;
  }();
  if (mib && *mib > 0 && *mib < kMost) asked.memory_bytes = *mib << 20;

  const auto start = v.number("SLURM_JOB_START_TIME"), end = v.number("SLURM_JOB_END_TIME");
  if (start && end && *end > *start) asked.time_s = static_cast<double>(*end - *start);
}

// "n[1-2,05]suffix": whether the number between the known ends is in one of the ranges, at the width written there.
bool is_in_brackets(std::string_view ranges, std::string_view digits) {
  const auto number = parse_int<int64_t>(digits);
  if (!number) return false;
  for (const std::string_view range : split(ranges, ',')) {
    const size_t dash = range.find('-');
    const std::string_view low = range.substr(0, dash), high = dash == range.npos ? low : range.substr(dash + 1);
    const auto first = parse_int<int64_t>(low), last = parse_int<int64_t>(high);
    const bool padded = low.size() > 1 && low.front() == '0';
    const bool fits = padded ? digits.size() == low.size() : digits == "0" || digits.front() != '0';
    if (first && last && fits && *number >= *first && *number <= *last) return true;
  }
  return false;
}

}  // namespace

bool is_in_host_list(std::string_view list, std::string_view host) {
  for (size_t begin = 0; begin < list.size();) {
    size_t end = begin;
    for (bool inside = false; end < list.size() && (inside || list[end] != ','); ++end)
      inside = list[end] == '[' || (inside && list[end] != ']');
    const std::string_view name = list.substr(begin, end - begin);
    begin = end + 1;
    const size_t open = name.find('['), close = name.find(']');
    if (open == name.npos || close == name.npos || close < open) {
      if (name == host) return true;
      continue;
    }
    const std::string_view before = name.substr(0, open), after = name.substr(close + 1);
    if (host.size() <= before.size() + after.size() || !host.starts_with(before) || !host.ends_with(after)) continue;
    const std::string_view digits = host.substr(before.size(), host.size() - before.size() - after.size());
    if (is_in_brackets(name.substr(open + 1, close - open - 1), digits)) return true;
  }
  return false;
}

Starter slurm_job(const Variables& v) {
  Starter found;
  ScheduledJob& job = found.started_by.job;
  const auto part = component(v);
  job.raw_id = v.text("SLURM_JOB_ID");
  job.array = v.text("SLURM_ARRAY_JOB_ID");
  job.index = v.number("SLURM_ARRAY_TASK_ID");
  // One task of an array carries the array's own id, so that the plain id never stands for a task.
  if (!job.array.empty() && job.index) job.id = job.array + "_" + std::to_string(*job.index);
  else if (part && *part > 0) job.id = v.first("SLURM_HET_JOB_ID", "SLURM_JOB_ID") + "+" + std::to_string(*part);
  else job.id = job.raw_id;
  job.cluster = v.text("SLURM_CLUSTER_NAME");
  job.node = v.text("SLURMD_NODENAME");
  job.nodes = v.number("SLURM_JOB_NUM_NODES");
  job.restart = v.number("SLURM_RESTART_COUNT").value_or(0);  // set only after a requeue
  job.step = v.number("SLURM_STEP_ID");
  if (const auto tasks = v.number("SLURM_STEP_NUM_TASKS"); job.step && tasks && *tasks > 1) {
    job.tasks = tasks;
    job.task = v.number("SLURM_PROCID");
  }
  found.metadata.job_name = v.text("SLURM_JOB_NAME");
  found.metadata.external_run_id = job.id;
  if (job.step) found.metadata.stage_name = "step " + std::to_string(*job.step);
  if (job.task) found.metadata.task_name = "task " + std::to_string(*job.task);
  read_size(v, part, found.started_by.requested);
  return found;
}

}  // namespace tacho
