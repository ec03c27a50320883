#include "export/jobstats.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/base64.h"
#include "base/units.h"
#include "base/writer.h"
#include "codec/gzip.h"
#include "report/store/group.h"

namespace tacho {
namespace {

struct Node {
  std::optional<int64_t> asked_bytes, peak_bytes;
  std::optional<double> cpu_s, cpus;
  JobGpus gpus;
};

template <class T>
void add(std::optional<T>& sum, const std::optional<T>& value) {
  if (value) sum = sum.value_or(T{}) + *value;
}

std::string node_name(const Run& run) {
  if (is_hidden(run, "host_hostname")) return "localhost";
  if (!run.started_by.job.node.empty()) return run.started_by.job.node;
  return run.host.host_hostname.value_or("localhost");
}

std::map<std::string, Node> nodes_of(std::span<const JobFigures> runs, std::span<const JobGpus> gpus) {
  std::map<std::string, Node> nodes;
  for (size_t i = 0; i < runs.size(); ++i) {
    const JobFigures& job = runs[i];
    const Run& run = job.run;
    Node& node = nodes[node_name(run)];
    add(node.peak_bytes, run.totals.memory_peak_bytes);
    add(node.cpu_s, job.cpu_s());
    node.asked_bytes = std::max(node.asked_bytes, run.started_by.requested.memory_bytes);
    add(node.cpus, run.started_by.requested.cpus);
    if (i < gpus.size()) node.gpus = gpus[i];
  }
  return nodes;
}

void put_gpus(JsonWriter& json, const JobGpus& gpus) {
  if (gpus.empty()) return;
  const auto put_map = [&](std::string_view name, const auto& put_value) {
    json.key(name).object();
    for (const auto& [number, gpu] : gpus) {
      json.key(std::to_string(number));
      put_value(gpu);
    }
    json.end_object();
  };
  put_map("gpu_total_memory", [&](const JobGpu& gpu) { json.integer(gpu.total_bytes); });
  put_map("gpu_used_memory", [&](const JobGpu& gpu) { json.integer(gpu.peak_bytes); });
  put_map("gpu_utilization", [&](const JobGpu& gpu) { json.number(gpu.mean_percent, 1); });
}

// Half a core is none of 0, by which nobody can divide.
void put_cpus(JsonWriter& json, double cpus) {
  json.key("cpus");
  if (cpus == std::floor(cpus)) json.integer(half_up(cpus));
  else json.number(cpus, 3);
}

std::string gzipped(std::string_view text) {
  GzipEncoder encoder;
  std::string out;
  const auto take = [&] {
    out += encoder.pending();
    encoder.sent(encoder.pending().size());
  };
  if (!encoder.open()) return {};
  for (size_t i = 0; i < text.size(); i += GzipEncoder::kFlushBytes / 2) {
    if (!encoder.put(text.substr(i, GzipEncoder::kFlushBytes / 2))) return {};
    take();
  }
  if (!encoder.finish()) return {};
  take();
  return out;
}

}  // namespace

std::string jobstats_text(std::span<const JobFigures> runs, int64_t rows, std::span<const JobGpus> node_gpus) {
  if (rows == 0 || runs.empty()) return "JS1:None";
  int64_t start_ns = INT64_MAX, wall_ms = 0, gpus = 0;
  for (const JobFigures& job : runs) {
    start_ns = std::min(start_ns, job.run.outcome.started_realtime_ns);
    gpus += job.run.started_by.requested.gpus.value_or(job.run.host.host_gpu_count.value_or(0));
  }
  for (const JobFigures& job : runs)
    wall_ms = std::max(wall_ms, (job.run.outcome.started_realtime_ns - start_ns) / kNsPerMs + job.duration_ms);
  if (wall_ms < 1000) return "JS1:Short";
  Writer text;
  JsonWriter json(text);
  json.object().key("nodes").object();
  for (const auto& [name, node] : nodes_of(runs, node_gpus)) {
    Writer quoted;
    JsonWriter(quoted).value(name);
    json.key(quoted.view().substr(1, quoted.view().size() - 2)).object();
    // A reader divides one by the other without looking: used by asked for, CPU seconds by CPUs.
    if (node.asked_bytes.value_or(0) > 0) {
      json.key("total_memory").integer(*node.asked_bytes);
      if (node.peak_bytes) json.key("used_memory").integer(*node.peak_bytes);
    }
    if (node.cpu_s) json.key("total_time").number(*node.cpu_s, 1);
    if (node.cpu_s && node.cpus) put_cpus(json, *node.cpus);
    put_gpus(json, node.gpus);
    json.end_object();
  }
  json.end_object().key("total_time").integer(wall_ms / 1000).key("gpus").integer(gpus).end_object();
  return "JS1:" + base64(gzipped(text.view()));
}

std::string jobstats_of(std::span<const StoredRun> runs) {
  std::map<std::string, std::vector<StoredRun>> by_node;
  int64_t rows = 0;
  for (const StoredRun& stored : runs) {
    by_node[node_name(stored.run)].push_back(stored);
    rows += stored.rows;
  }
  std::vector<Input> nodes;
  std::vector<JobGpus> gpus;
  for (auto& [name, members] : by_node) {
    Input node = group_input(members);
    gpus.push_back(job_gpus(node.stored.run, members));
    nodes.push_back(std::move(node));
  }
  std::vector<JobFigures> figures;
  for (const Input& node : nodes) figures.emplace_back(node.stored.run);
  return jobstats_text(figures, rows, gpus);
}

}  // namespace tacho
