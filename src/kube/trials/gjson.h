// Conditions of trial templates: the subset of GJSON paths that Katib's own and its users' conditions need. Dotted
// paths, array index, # (count, or "of every element"), #(key op value) first match, #(…)# all matches, queries inside
// queries, pipes, @this, [path,path], * and ? in keys, backslash for a literal character. Pure, thread-safe.
//
//   status.conditions.#(type=="Complete")#|#(status=="True")#
#pragma once
#include <optional>
#include <string_view>

#include "kube/api/object.h"

namespace tacho {

// What the path leads to; nothing when it leads nowhere or is no path.
std::optional<Json> gjson_get(const Json& value, std::string_view path);

// As Katib reads a condition: met when the result is an object or an array that is not empty; its reason and message
// come from that object or the array's first element.
struct ConditionMatch {
  bool met = false;
  std::string reason, message;
};
ConditionMatch match_condition(const Json& job, std::string_view condition);

}  // namespace tacho
