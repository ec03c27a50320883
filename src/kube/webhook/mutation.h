// The two hooks: what is to be done with a pod (namespaces with Katib's label) or with a job's pod templates (all
// others), so that exactly one collector reports for a Trial. Every doubt is answered by "allowed" with a warning.
// Thread-safe.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "kube/api/cluster.h"
#include "kube/api/text_cache.h"
#include "kube/webhook/image_commands.h"
#include "kube/webhook/owner_walk.h"
#include "kube/webhook/pod_edit.h"
#include "kube/webhook/review.h"
#include "kube/webhook/settings.h"
#include "kube/webhook/trial_facts.h"

namespace tacho {

inline constexpr const char* kNamespaceLabel = "katib.kubeflow.org/metrics-collector-injection";

class Mutation {
 public:
  Mutation(Cluster& cluster, SettingsSource& settings, ImageCommands& images, std::string db_manager);

  ReviewAnswer pod(const Review& review, int64_t deadline_ns);
  ReviewAnswer job(const Review& review, int64_t deadline_ns);

 private:
  struct Work;
  struct Choice;
  struct NamespaceFacts {
    bool enabled = false;         // for injection at pod level
    bool users_assigned = false;  // OpenShift: each container gets a user of the namespace's range
  };
  std::shared_ptr<const TrialFacts> facts_of(const Lookup& found);  // of a Trial; nullptr: not there, or none
  bool find_trial(Work& work);                                      // false: the answer is complete
  enum class Labelled { yes, no, unknown };
  Labelled is_labelled(Work& work);
  bool make_plan(Work& work, const Choice& choice, PodPlan& plan);
  void read_suggestion_of(Work& work, PodPlan& plan);
  void doubt(Work& work, const std::string& what, bool may_pass = false);
  void finish(Work& work, JsonPatch& patch);

  Cluster& cluster_;
  SettingsSource& settings_;
  ImageCommands& images_;
  const std::string db_manager_;
  OwnerWalk walk_;
  TextCache<TrialFacts> trials_;
  TextCache<SuggestionFacts> suggestions_;
  TextCache<NamespaceFacts> namespaces_;
};

}  // namespace tacho
