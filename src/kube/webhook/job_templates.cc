#include "kube/webhook/job_templates.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "kube/api/job_kinds.h"
#include "kube/api/json_patch.h"

namespace tacho {
namespace {

bool has_template(const Json& replica) {
  const Json* found = find(replica, {"template"});
  return found != nullptr && found->is_object();
}

void read_replicas(const Json& job, const JobKind& kind, JobTemplates& out) {
  const Json* specs = find(job, {"spec", kind.replica_specs});
  if (specs == nullptr || !specs->is_object()) return;
  std::string worker;
  size_t best = kind.leaders.size();
  for (const auto& [type, replica] : specs->items()) {
    if (!has_template(replica)) continue;
    const std::string pointer = "/spec/" + std::string(kind.replica_specs) + "/" + pointer_part(type) + "/template";
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

bool is_of_our_groups(std::string_view api_version) {
  const std::string_view group = api_version.substr(0, api_version.find('/'));
  return std::any_of(job_kinds().begin(), job_kinds().end(),
                     [&](const JobKind& known) { return known.use == JobKind::Use::usual && known.group == group; });
}

}  // namespace

JobTemplates find_templates(const Json& job, const std::string& kind) {
  JobTemplates out;
  const JobKind* known = find_job_kind(kind);
  // Others have kinds of these names too: batch.volcano.sh has a Job of tasks.
  if (known == nullptr || known->use == JobKind::Use::owner || !is_of_our_groups(text_at(job, {"apiVersion"})))
    return out;
  out.known = true;
  switch (known->shape) {
    case JobKind::Shape::pods: read_job(job, out); break;
    case JobKind::Shape::replicas: read_replicas(job, *known, out); break;
    case JobKind::Shape::jobs: read_job_set(job, out); break;
    case JobKind::Shape::none: out.by_owner = true; break;
  }
  return out;
}

}  // namespace tacho
