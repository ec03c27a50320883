// The kinds of jobs that a Trial may run, and the kinds that stand between a pod and its Trial: one line per kind.
// Watches, the owner walk, the choice of a template and the default conditions use it; packaging_test compares the
// manifests, the chart and docs/kubernetes.md with them. Constant data; thread-safe.
#pragma once
#include <array>
#include <span>
#include <string_view>

namespace tacho {

struct JobKind {
  enum class Use {
    usual,  // watched, with rights and hooks in the packages
    owner,  // made by others; if it cannot be read, that is a doubt
    named,  // known only if katib-config names it
  };
  enum class Shape {
    pods,      // spec.template
    replicas,  // a map of replica types
    jobs,      // spec.replicatedJobs
    none,      // no template of its own: what it makes is hooked
  };
  std::string_view kind, group, version, resource;
  Use use;
  Shape shape;
  bool is_trial_job;                             // what a Trial runs; otherwise made by one of these
  bool makes_pods;                               // it owns its pods directly
  std::string_view succeeded = {}, failed = {};  // the types of condition that Katib looks for when nobody names one
  // Of replicas.
  std::string_view replica_specs = {};           // the map
  std::array<std::string_view, 2> leaders = {};  // in lower case, the first that is there is chosen
  bool worker_serves = false;                    // without a leader, worker 0 is chosen at run time
};

std::span<const JobKind> job_kinds();
// By its kind alone; null when there is no such line.
const JobKind* find_job_kind(std::string_view kind);

}  // namespace tacho
