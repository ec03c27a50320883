// What injected containers may do, derived from what the trainer may do. Pure.
#pragma once
#include <nlohmann/json.hpp>

#include "kube/api/object.h"

namespace tacho {

struct OurContext {
  Json context;               // null when there is nothing to say
  bool user_unknown = false;  // the trainer runs as its image's user: ours differs
};

// `container` is the primary one of `pod`. `copy_first`: all of the first container's context is copied (Katib's
// injectSecurityContext). `users_assigned`: the cluster gives each container a user of the namespace's own.
OurContext our_security_context(const Json& pod, const Json& container, bool copy_first, bool users_assigned);

}  // namespace tacho
