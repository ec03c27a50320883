#include "kube/webhook/job_templates.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "kube/api/json_patch.h"

namespace tacho {
namespace {

struct Kind {
  std::string_view name;
  std::string_view specs;                   // the map of replica types
  std::array<std::string_view, 2> leaders;  // in lower case, the first that is there is chosen
  bool worker_serves;                       // without a leader, worker 0 is chosen at run time
};
constexpr Kind kKinds[] = {
    {"PyTorchJob", "pytorchReplicaSpecs", {"master", ""}, true},
    {"TFJob", "tfReplicaSpecs", {"chief", "master"}, true},
    {"XGBoostJob", "xgbReplicaSpecs", {"master", ""}, false},
    {"MPIJob", "mpiReplicaSpecs", {"launcher", ""}, false},
};

bool has_template(const Json& replica) {
  const Json* found = find(replica, {"template"});
  return found != nullptr && found->is_object();
}

void read_replicas(const Json& job, const Kind& kind, JobTemplates& out) {
  const Json* specs = find(job, {"spec", kind.specs});
  if (specs == nullptr || !specs->is_object()) return;
  std::string worker;
  size_t best = kind.leaders.size();
  for (const auto& [type, replica] : specs->items()) {
    if (!has_template(replica)) continue;
    const std::string pointer = "/spec/" + std::string(kind.specs) + "/" + pointer_part(type) + "/template";
    out.all.push_back(pointer);
    const std::string name = lower(type);
    const auto rank =
        static_cast<size_t>(std::find(kind.leaders.begin(), kind.leaders.end(), name) - kind.leaders.begin());
    if (rank < best) {
      best = rank;
      out.chosen = pointer;
    }
    if (name == "worker") worker = pointer;
  }
  if (!out.chosen.empty() || !kind.worker_serves || worker.empty()) return;
  out.chosen = worker;
  out.active = JobTemplates::Active::replica_index;
}

void read_job_set(const Json& job, JobTemplates& out) {
  const Json* jobs = find(job, {"spec", "replicatedJobs"});
  if (jobs == nullptr || !jobs->is_array()) return;
  for (size_t i = 0; i < jobs->size(); i++) {
    const Json* found = find((*jobs)[i], {"template", "spec", "template"});
    if (found == nullptr || !found->is_object()) continue;
    const std::string pointer = "/spec/replicatedJobs/" + std::to_string(i) + "/template/spec/template";
    out.all.push_back(pointer);
    if (text_at((*jobs)[i], {"name"}) == "node") out.chosen = pointer;
  }
  out.active = JobTemplates::Active::completion_index;
}

void read_job(const Json& job, JobTemplates& out) {
  const Json* spec = find(job, {"spec"});
  if (spec == nullptr || !has_template(*spec)) return;
  out.all = {"/spec/template"};
  out.chosen = "/spec/template";
  const auto number = [&](const char* key) -> int64_t {
    const Json* value = find(*spec, {key});
    return value != nullptr && value->is_number_integer() ? value->get<int64_t>() : 1;
  };
  const int64_t pods = std::max(number("parallelism"), number("completions"));
  if (pods <= 1) return;
  if (text_at(*spec, {"completionMode"}) == "Indexed") out.active = JobTemplates::Active::completion_index;
  else out.pods = pods;
}

}  // namespace

JobTemplates find_templates(const Json& job, const std::string& kind) {
  JobTemplates out;
  // Others have kinds of these names too: batch.volcano.sh has a Job of tasks.
  const std::string group = text_at(job, {"apiVersion"});
  out.known = group.starts_with("batch/") || group.starts_with("jobset.x-k8s.io/") ||
              group.starts_with("kubeflow.org/") || group.starts_with("trainer.kubeflow.org/");
  if (!out.known) return out;
  if (kind == "Job") return read_job(job, out), out;
  if (kind == "JobSet") return read_job_set(job, out), out;
  out.by_owner = kind == "TrainJob";
  if (out.by_owner) return out;
  for (const Kind& known : kKinds) {
    if (known.name == kind) return read_replicas(job, known, out), out;
  }
  out.known = false;
  return out;
}

}  // namespace tacho
