#include "kube/webhook/pod_security.h"

namespace tacho {
namespace {

constexpr int kNobody = 65532;  // as webhook and controller run

bool says(const Json* context, const char* key, bool value) {
  const Json* found = context == nullptr ? nullptr : find(*context, {key});
  return found != nullptr && found->is_boolean() && found->get<bool>() == value;
}

bool has_field(const Json* context, const char* key) { return context != nullptr && find(*context, {key}) != nullptr; }

// Rights that the trainer has given up.
void give_up(const Json& own, Json& out) {
  if (says(&own, "allowPrivilegeEscalation", false)) {
    out["allowPrivilegeEscalation"] = false;
    // What was copied from another container: these exclude each other.
    if (says(&out, "privileged", true)) out.erase("privileged");
    if (find(out, {"capabilities", "add"}) != nullptr) out["capabilities"].erase("add");
  }
  if (says(&own, "runAsNonRoot", true)) out["runAsNonRoot"] = true;
  if (says(&own, "readOnlyRootFilesystem", true)) out["readOnlyRootFilesystem"] = true;
  if (const Json* dropped = find(own, {"capabilities", "drop"}); dropped != nullptr && dropped->is_array())
    out["capabilities"]["drop"] = *dropped;
  // A profile of the trainer's own need not be one that we can run under.
  if (const std::string type = text_at(own, {"seccompProfile", "type"});
      type == "RuntimeDefault" || type == "Localhost")
    out["seccompProfile"] = {{"type", "RuntimeDefault"}};
}

}  // namespace

// So that collector and trainer may both write the marker, the user is the trainer's. Where the trainer gives up
// rights, so do our containers: a namespace that demands it (Pod Security "restricted") would refuse the whole pod for
// one that does not.
OurContext our_security_context(const Json& pod, const Json& container, bool copy_first, bool users_assigned) {
  static const Json kNone = Json::object();
  const Json* first = find(pod, {"spec", "containers"});
  first =
      first != nullptr && first->is_array() && !first->empty() ? find(first->front(), {"securityContext"}) : nullptr;
  const Json* of_pod = find(pod, {"spec", "securityContext"});
  const Json* found = find(container, {"securityContext"});
  const Json& own = found != nullptr && found->is_object() ? *found : kNone;

  Json out = copy_first && first != nullptr && first->is_object() ? *first : Json::object();
  const bool pod_is_not_root = says(of_pod, "runAsNonRoot", true), trainer_may_be = says(&own, "runAsNonRoot", false);
  const bool not_root = says(&own, "runAsNonRoot", true) || (pod_is_not_root && !trainer_may_be);
  if (copy_first || not_root || says(&own, "allowPrivilegeEscalation", false)) {
    for (const char* key : {"runAsUser", "runAsGroup"}) {
      if (const Json* value = find(own, {key})) out[key] = *value;
    }
  }
  give_up(own, out);
  if (pod_is_not_root && trainer_may_be) out["runAsNonRoot"] = false;
  // The collector's image names no user, as it has to end trainers of any: with runAsNonRoot alone no kubelet starts
  // it.
  const bool unknown = not_root && !has_field(&out, "runAsUser") && !has_field(of_pod, "runAsUser") && !users_assigned;
  if (unknown) out["runAsUser"] = kNobody;
  return {out.empty() ? Json() : std::move(out), unknown};
}

}  // namespace tacho
