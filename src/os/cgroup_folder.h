// The processes of a cgroup and of all cgroups below it: cgroup.procs lists only those of its own folder (v1 and v2),
// and services and containers keep their processes one or more levels further down. Allocates. Thread-safe.
#pragma once
#include <functional>
#include <string>
#include <string_view>

namespace tacho {

// Calls visit with the text of each cgroup.procs. False when the cgroup itself cannot be read any more.
bool visit_cgroup_procs(const std::string& folder, const std::function<void(std::string_view procs)>& visit);

}  // namespace tacho
