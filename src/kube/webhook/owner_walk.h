// From a pod or job up to its Trial: pod → Job → JobSet → TrainJob → Trial. Owners come from the cluster's caches.
// Thread-safe.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/api/cluster.h"
#include "kube/api/object.h"
#include "kube/api/text_cache.h"
#include "kube/webhook/trial_facts.h"

namespace tacho {

// What matters of an owner.
struct OwnerFacts {
  std::string kind, name, uid;
  std::vector<OwnerReference> owners;
  // batch Job: how many pods there may be.
  int64_t parallelism = 1, completions = 1;
  bool indexed = false;
  // Jobs of the training operator: replica type in lower case → replicas.
  std::map<std::string, int64_t> replicas;
};
OwnerFacts read_owner(const Json& object);

struct TrialOwner {
  enum class State {
    ours,
    not_ours,
    doubt,  // an owner could not be read just now
  };
  State state = State::not_ours;
  std::string trial, uid;                 // as the owner reference says; by Katib's rule the job has the same name
  std::shared_ptr<const OwnerFacts> job;  // the Trial's job; the object itself when the Trial owns it
  std::string why;                        // of a doubt; of not_ours when the owners are odd
  bool cut_short = false;                 // not_ours, but not all owners were looked at
};

class OwnerWalk {
 public:
  explicit OwnerWalk(Cluster& cluster) : cluster_(cluster), cache_(8192) {}
  // `trial_resources` are further kinds of jobs, Kind.version.group: if an owner of such a kind cannot be read, that is
  // a doubt; any other owner is none of ours.
  TrialOwner find(const Json& object, const std::string& ns, const std::vector<std::string>& trial_resources,
                  int64_t deadline_ns);

 private:
  struct Search;
  std::shared_ptr<const OwnerFacts> facts_of(const Lookup& found);
  Lookup look_up(const OwnerReference& owner, Search& search, std::shared_ptr<const OwnerFacts>& facts);
  TrialOwner step(const std::shared_ptr<const OwnerFacts>& object, int depth, Search& search);

  Cluster& cluster_;
  TextCache<OwnerFacts> cache_;
};

// How many pods of the job carry all these labels; nothing when that cannot be told.
std::optional<int64_t> primary_pods(const OwnerFacts& job, const Pairs& labels);

}  // namespace tacho
