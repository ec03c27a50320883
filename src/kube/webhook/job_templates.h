// Where the pod templates of a job are, and which of them the collector belongs to. Pure functions; thread-safe.
#pragma once
#include <string>
#include <vector>

#include "kube/api/object.h"

namespace tacho {

struct JobTemplates {
  bool known = false;            // a kind of job whose templates we know
  bool by_owner = false;         // has no template of its own; what it makes is hooked instead (TrainJob)
  std::vector<std::string> all;  // JSON pointers
  std::string chosen;            // one of them; empty when the job has none that fits
  // Which pods of the chosen template report: all of them, or by an index at run time.
  enum class Active { all, replica_index, completion_index };
  Active active = Active::all;
  int64_t pods = 1;  // of the chosen template; more than one only where all report
};
JobTemplates find_templates(const Json& job, const std::string& kind);

}  // namespace tacho
