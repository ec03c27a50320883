// What the runs of a group are together, from what run.json says of each.
#include <algorithm>
#include <map>
#include <set>

#include "codec/run_words.h"
#include "report/store/group.h"

namespace tacho {
namespace {

using Members = std::span<const StoredRun>;

// The value that all have; else that of a run without it.
template <class T>
T common(Members members, const auto& value_of) {
  const T first = value_of(members[0].run);
  for (const StoredRun& member : members)
    if (value_of(member.run) != first) return T{};
  return first;
}

template <class T>
std::optional<T> sum(Members members, std::optional<T> Totals::*field) {
  std::optional<T> total;
  for (const StoredRun& member : members)
    if (const auto& value = member.run.totals.*field) total = total.value_or(T{}) + *value;
  return total;
}

template <class T>
std::optional<T> highest(Members members, std::optional<T> Totals::*field) {
  std::optional<T> most;
  for (const StoredRun& member : members) most = std::max(most, member.run.totals.*field);
  return most;
}

int64_t end_ns(const Outcome& outcome) {
  return outcome.finished_realtime_ns > 0 ? outcome.finished_realtime_ns
                                          : outcome.started_realtime_ns + outcome.duration_ns;
}

std::string node_of(const Run& run) {
  const std::string& node = run.started_by.job.node;
  return node.empty() ? run.host.host_hostname.value_or("") : node;
}

void fold_identity(Members members, Run& group) {
  const auto same = [&](auto member_of) {
    using T = std::remove_cvref_t<decltype(member_of(members[0].run))>;
    return common<T>(members, member_of);
  };
  const auto modes = same([](const Run& run) { return run.mode; });
  group.mode = modes.empty() ? std::string(kModeRun) : modes;
  group.version = members.back().run.version;
  group.command = same([](const Run& run) { return run.command; });
  group.process_name = same([](const Run& run) { return run.process_name; });
  group.working_directory = same([](const Run& run) { return run.working_directory; });
  for (const MetadataField& field : kMetadataFields)
    group.metadata.*field.member = same([&](const Run& run) { return run.metadata.*field.member; });
  group.metadata.tags = same([](const Run& run) { return run.metadata.tags; });
  group.metric_labels = same([](const Run& run) { return run.metric_labels; });
  group.method.cpu = same([](const Run& run) { return run.method.cpu; });
  group.method.memory = same([](const Run& run) { return run.method.memory; });
  group.method.io = same([](const Run& run) { return run.method.io; });
  group.method.gpu = same([](const Run& run) { return run.method.gpu; });
  for (const StoredRun& member : members) group.interval_ns = std::max(group.interval_ns, member.run.interval_ns);
}

void fold_started_by(Members members, StartedBy& group) {
  const auto same = [&](auto part) {
    using T = std::remove_cvref_t<decltype(part(members[0].run.started_by))>;
    return common<T>(members, [&](const Run& run) { return part(run.started_by); });
  };
  group.orchestrator = same([](const StartedBy& by) { return by.orchestrator; });
  group.executor = same([](const StartedBy& by) { return by.executor; });
  group.fields = same([](const StartedBy& by) { return by.fields; });
  group.job = members[0].run.started_by.job;  // scheduler, cluster, id and restart are the same
  group.job.raw_id = same([](const StartedBy& by) { return by.job.raw_id; });
  group.job.node = same([](const StartedBy& by) { return by.job.node; });
  group.job.step = same([](const StartedBy& by) { return by.job.step; });
  group.job.task = same([](const StartedBy& by) { return by.job.task; });
  group.job.tasks = same([](const StartedBy& by) { return by.job.tasks; });
  group.job.nodes = same([](const StartedBy& by) { return by.job.nodes; });
  std::vector<const Run*> runs;
  for (const StoredRun& member : members) runs.push_back(&member.run);
  group.requested = requested_together(runs);
}

// Machines add up; a limit of one member says nothing of the others.
void fold_host(Members members, Host& group) {
  std::map<std::string, const Host*> hosts;
  for (const StoredRun& member : members) hosts.emplace(node_of(member.run), &member.run.host);
  group = *hosts.begin()->second;
  if (hosts.size() == 1) return;
  group.host_id = group.host_hostname = group.host_ip = std::nullopt;
  group.gpu_memory_mib.clear();
  for (auto at = std::next(hosts.begin()); at != hosts.end(); ++at) {
    const Host& host = *at->second;
    const auto add = [](auto& total, const auto& value) {
      total = total && value ? std::optional(*total + *value) : std::nullopt;
    };
    add(group.host_vcpus, host.host_vcpus);
    add(group.host_memory_mib, host.host_memory_mib);
    add(group.host_gpu_count, host.host_gpu_count);
    add(group.host_gpu_memory_mib, host.host_gpu_memory_mib);
    add(group.host_storage_gb, host.host_storage_gb);
    if (host.host_cpu_model != group.host_cpu_model) group.host_cpu_model = std::nullopt;
    if (host.host_gpu_model != group.host_gpu_model) group.host_gpu_model = std::nullopt;
    if (host.host_server_allocation != group.host_server_allocation) group.host_server_allocation = std::nullopt;
  }
}

void fold_exit(Members members, Outcome& group) {
  std::vector<const Outcome*> by_end;
  for (const StoredRun& member : members) by_end.push_back(&member.run.outcome);
  std::stable_sort(by_end.begin(), by_end.end(),
                   [](const Outcome* a, const Outcome* b) { return end_ns(*a) < end_ns(*b); });
  const auto bad = std::find_if(by_end.begin(), by_end.end(),
                                [](const Outcome* outcome) { return outcome->exit_code.value_or(0) != 0; });
  const bool all_told =
      std::all_of(by_end.begin(), by_end.end(), [](const Outcome* outcome) { return outcome->exit_code.has_value(); });
  if (bad != by_end.end()) {
    group.exit_code = (*bad)->exit_code;
    group.signal = (*bad)->signal;
    group.timed_out = (*bad)->timed_out;
  } else if (all_told) {
    group.exit_code = 0;
  }
}

void fold_outcome(Members members, Outcome& group) {
  const auto any = [&](RunState state) {
    return std::any_of(members.begin(), members.end(),
                       [&](const StoredRun& member) { return member.run.outcome.state == state; });
  };
  group.state = any(RunState::running)       ? RunState::running
                : any(RunState::failed)      ? RunState::failed
                : any(RunState::interrupted) ? RunState::interrupted
                                             : RunState::finished;
  int64_t end = 0;
  group.started_realtime_ns = members[0].run.outcome.started_realtime_ns;
  for (const StoredRun& member : members) {
    const Outcome& outcome = member.run.outcome;
    group.started_realtime_ns = std::min(group.started_realtime_ns, outcome.started_realtime_ns);
    end = std::max(end, end_ns(outcome));
    if (outcome.oom_killed && (*outcome.oom_killed || !group.oom_killed)) group.oom_killed = outcome.oom_killed;
  }
  if (group.state != RunState::running) group.finished_realtime_ns = end;
  group.duration_ns = end - group.started_realtime_ns;
  fold_exit(members, group);
}

// Peaks of different times do not add up: but for memory, whose rows tell, those of a group are not known.
void fold_totals(Members members, Run& group) {
  Totals& totals = group.totals;
  totals.cpu_user_s = sum(members, &Totals::cpu_user_s);
  totals.cpu_system_s = sum(members, &Totals::cpu_system_s);
  totals.memory_peak_bytes = highest(members, &Totals::memory_peak_bytes);
  totals.largest_process_bytes = highest(members, &Totals::largest_process_bytes);
  for (const auto field : {&Totals::io_read_bytes, &Totals::io_write_bytes, &Totals::oom_kills, &Totals::processes_seen,
                           &Totals::read_chars, &Totals::write_chars, &Totals::read_calls, &Totals::write_calls,
                           &Totals::switches_voluntary, &Totals::switches_involuntary})
    totals.*field = sum(members, field);
  const auto silent = std::count_if(members.begin(), members.end(),
                                    [](const StoredRun& member) { return !member.run.totals.cpu_user_s; });
  if (silent > 0 && totals.cpu_user_s)
    group.notes.push_back(std::to_string(silent) + " of its runs do not tell their CPU time: the sum lacks them");
}

}  // namespace

RequestedSize requested_together(std::span<const Run* const> runs) {
  struct Node {
    std::map<std::optional<int64_t>, std::optional<double>> cpus;  // by step; the batch script has all of them
    std::optional<int64_t> memory_bytes, gpus;
  };
  std::map<std::string, Node> nodes;
  RequestedSize all;
  for (const Run* run : runs) {
    const RequestedSize& size = run->started_by.requested;
    Node& node = nodes[node_of(*run)];
    auto& cpus = node.cpus[run->started_by.job.step];
    if (size.cpus)
      cpus = run->started_by.job.step ? cpus.value_or(0) + *size.cpus : std::max(cpus.value_or(0), *size.cpus);
    node.memory_bytes = std::max(node.memory_bytes, size.memory_bytes);
    node.gpus = std::max(node.gpus, size.gpus);
    all.time_s = std::max(all.time_s, size.time_s);
    if (all.source.empty()) all.source = size.source;
  }
  const auto add = [](auto& total, const auto& value) {
    if (value) total = total.value_or(0) + *value;
  };
  for (const auto& [name, node] : nodes) {
    std::optional<double> cpus;
    for (const auto& [step, together] : node.cpus) cpus = std::max(cpus, together);
    add(all.cpus, cpus);
    add(all.memory_bytes, node.memory_bytes);
    add(all.gpus, node.gpus);
  }
  return all;
}

StoredRun fold_group(Members members) {
  StoredRun group;
  fold_identity(members, group.run);
  fold_started_by(members, group.run.started_by);
  fold_host(members, group.run.host);
  fold_outcome(members, group.run.outcome);
  fold_totals(members, group.run);
  group.run.id = group_name(group.run.started_by.job);
  std::set<std::string> nodes;
  for (const StoredRun& member : members) {
    group.rows += member.rows;
    if (const std::string node = node_of(member.run); !node.empty()) nodes.insert(node);
  }
  group.run.notes.push_back("a group of " + std::to_string(members.size()) + " runs" +
                            (nodes.size() > 1 ? " on " + std::to_string(nodes.size()) + " nodes" : ""));
  return group;
}

}  // namespace tacho
