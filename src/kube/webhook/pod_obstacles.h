// What in a pod is in the way of the injection: with both, the API server would refuse the pod, or the trainer would
// not start. Pure.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "kube/api/object.h"
#include "kube/webhook/trial_facts.h"

namespace tacho {

// What is to be put there.
struct WantedParts {
  std::string folder;       // where trainer and collector share a volume; may be empty
  bool own_volume = false;  // the volume is ours; else the trainer has mounted one there itself
  bool launcher = false;
  bool follower = false;
  size_t annotation_bytes = 0;  // keys and values of the annotations to come
};

// Empty when nothing is in the way; else what it is, for a warning. `container` is the primary one of `pod`.
std::string pod_obstacle(const Json& pod, const Json& container, const TrialFacts& trial, const WantedParts& wanted);
// Keys and values together may have 256 KiB.
bool has_room_for_annotations(const Json& pod, size_t more_bytes);

}  // namespace tacho
