#include "kube/webhook/owner_walk.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "kube/api/job_kinds.h"

namespace tacho {
namespace {

constexpr int kDepthLimit = 8;
// Objects asked for in one walk: the longest chain that is known has four. Whoever makes pods must not make the API
// server work hundreds of times for each.
constexpr int kLookups = 16;

int64_t number_or(const Json* value, int64_t other) {
  return value != nullptr && value->is_number_integer() ? value->get<int64_t>() : other;
}

bool has_label(const Pairs& labels, std::string_view key, std::string_view value) {
  return std::any_of(labels.begin(), labels.end(),
                     [&](const auto& label) { return label.first == key && label.second == value; });
}

bool has_shape(const OwnerFacts& job, JobKind::Shape shape) {
  const JobKind* known = find_job_kind(job.kind);
  return known != nullptr && known->use == JobKind::Use::usual && known->shape == shape;
}

// One that cannot be read just now may have a Trial behind it.
bool may_lead_to_a_trial(const std::string& kind, const std::vector<std::string>& trial_resources) {
  const JobKind* known = find_job_kind(kind);
  return (known != nullptr && known->use != JobKind::Use::named) ||
         std::any_of(trial_resources.begin(), trial_resources.end(),
                     [&](const std::string& form) { return form.starts_with(kind + "."); });
}

std::string label_value(const Pairs& labels, std::string_view key) {
  for (const auto& [name, value] : labels) {
    if (name == key) return value;
  }
  return "";
}

}  // namespace

OwnerFacts read_owner(const Json& object) {
  OwnerFacts out;
  out.kind = text_at(object, {"kind"});
  out.name = text_at(object, {"metadata", "name"});
  out.uid = text_at(object, {"metadata", "uid"});
  out.owners = owners_of(object);
  const Json* spec = find(object, {"spec"});
  if (spec == nullptr || !spec->is_object()) return out;
  if (has_shape(out, JobKind::Shape::pods)) {
    out.parallelism = number_or(find(*spec, {"parallelism"}), 1);
    out.completions = number_or(find(*spec, {"completions"}), out.parallelism);
    out.indexed = text_at(*spec, {"completionMode"}) == "Indexed";
  }
  for (const JobKind& known : job_kinds()) {
    const Json* specs = known.replica_specs.empty() ? nullptr : find(*spec, {known.replica_specs});
    if (specs == nullptr || !specs->is_object()) continue;
    for (const auto& [type, replica] : specs->items())
      out.replicas[lower(type)] = number_or(find(replica, {"replicas"}), 1);
  }
  return out;
}

struct OwnerWalk::Search {
  const std::string& ns;
  const std::vector<std::string>& trial_resources;
  int64_t deadline_ns;
  std::set<std::string> seen;
  int lookups_left = kLookups;
  std::string doubt, odd;
};

std::shared_ptr<const OwnerFacts> OwnerWalk::facts_of(const Lookup& found) {
  if (found.state != Lookup::State::found || !found.json) return nullptr;
  return cache_.get(found.json, [](const std::string& text) -> std::shared_ptr<const OwnerFacts> {
    const std::optional<Json> parsed = parse_json(text);
    return parsed ? std::make_shared<const OwnerFacts>(read_owner(*parsed)) : nullptr;
  });
}

// `facts` stay empty when the owner is not there. Another object of its name, made after the first was deleted, is no
// owner; but it may be the caches that still have the first.
Lookup OwnerWalk::look_up(const OwnerReference& owner, Search& search, std::shared_ptr<const OwnerFacts>& facts) {
  const ObjectKey key{owner.api_version, owner.kind, search.ns, owner.name};
  const auto is_other = [&] { return facts && !owner.uid.empty() && !facts->uid.empty() && facts->uid != owner.uid; };
  Lookup found = cluster_.get(key, search.deadline_ns);
  facts = facts_of(found);
  if (is_other() && --search.lookups_left >= 0) {
    found = cluster_.get_now(key, search.deadline_ns);
    facts = facts_of(found);
  }
  if (is_other()) facts = nullptr;
  return found;
}

TrialOwner OwnerWalk::step(const std::shared_ptr<const OwnerFacts>& object, int depth, Search& search) {
  TrialOwner out;
  for (const OwnerReference& owner : object->owners) {
    if (owner.kind != "Trial" || owner.api_version != kTrialVersion) continue;
    out.state = TrialOwner::State::ours;
    out.trial = owner.name;
    out.uid = owner.uid;
    out.job = object;
    return out;
  }
  if (depth >= kDepthLimit) {
    if (!object->owners.empty())
      search.odd = "the owners go on for more than " + std::to_string(kDepthLimit) + " steps";
    return out;
  }
  for (const OwnerReference& owner : object->owners) {
    if (owner.kind.empty() || owner.name.empty()) continue;
    if (!search.seen.insert(owner.uid.empty() ? owner.kind + "/" + owner.name : owner.uid).second) {
      search.odd = "the owners go in a circle at " + owner.kind + " " + owner.name;
      continue;
    }
    if (--search.lookups_left < 0) {
      search.odd = "it has more than " + std::to_string(kLookups) + " owners, and no Trial was among these";
      return out;
    }
    std::shared_ptr<const OwnerFacts> facts;
    const Lookup found = look_up(owner, search, facts);
    if (found.state == Lookup::State::failed) {
      if (search.doubt.empty() && may_lead_to_a_trial(owner.kind, search.trial_resources))
        search.doubt = owner.kind + " " + owner.name + " could not be read: " + found.why;
      continue;
    }
    if (!facts) continue;
    TrialOwner above = step(facts, depth + 1, search);
    if (above.state == TrialOwner::State::ours) return above;
  }
  return out;
}

TrialOwner OwnerWalk::find(const Json& object, const std::string& ns, const std::vector<std::string>& trial_resources,
                           int64_t deadline_ns) {
  Search search{ns, trial_resources, deadline_ns, {}, kLookups, {}, {}};
  const auto start = std::make_shared<const OwnerFacts>(read_owner(object));
  if (!start->uid.empty()) search.seen.insert(start->uid);
  TrialOwner out = step(start, 0, search);
  if (out.state == TrialOwner::State::not_ours && !search.doubt.empty()) {
    out.state = TrialOwner::State::doubt;
    out.why = search.doubt;
  } else if (out.state == TrialOwner::State::not_ours) {
    out.why = search.odd;
    out.cut_short = search.lookups_left < 0;
  }
  return out;
}

std::optional<int64_t> primary_pods(const OwnerFacts& job, const Pairs& labels) {
  if (has_label(labels, "training.kubeflow.org/job-role", "master")) return 1;
  const bool one_index = has_label(labels, "batch.kubernetes.io/job-completion-index", "0");
  if (job.kind == "Pod" || job.kind.empty()) return 1;  // the Trial's job is the pod itself
  if (has_shape(job, JobKind::Shape::pods)) {
    if (job.indexed && one_index) return 1;
    return std::max(job.parallelism, job.completions);
  }
  if (has_shape(job, JobKind::Shape::none) || has_shape(job, JobKind::Shape::jobs))
    return one_index ? std::optional<int64_t>(1) : std::nullopt;
  if (job.replicas.empty()) return std::nullopt;
  if (!label_value(labels, "training.kubeflow.org/replica-index").empty() &&
      !label_value(labels, "training.kubeflow.org/replica-type").empty())
    return 1;
  const std::string type = lower(label_value(labels, "training.kubeflow.org/replica-type"));
  int64_t total = 0;
  for (const auto& [name, count] : job.replicas) {
    if (type.empty() || type == name) total += count;
  }
  return total;
}

}  // namespace tacho
