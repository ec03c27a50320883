// The runs of one job of a scheduler (its tasks, nodes and steps) as one: who belongs together, and the figures of all.
// A group is named by group_name() of model/started_by.h. Thread-safe (no state).
#pragma once
#include <span>
#include <string>
#include <vector>

#include "report/store/input.h"

namespace tacho {

// Equal for the runs of one group; empty: the run is in none.
std::string group_key(const Run& run);

// Whether a word has the form of a group's name, "slurm:4711_3".
bool is_group_form(std::string_view word);
// The runs of a group by their start: none when there is no such group, an error when two clusters have one.
Result<std::vector<StoredRun>> group_members(const std::string& store_dir, const std::string& name);

// What the executor gave all of them together: tasks of a step add up, steps follow each other, nodes add up.
RequestedSize requested_together(std::span<const Run* const> runs);

// One run that stands for all, without the rows' figures: start least, end greatest, CPU time and bytes summed, memory
// peak at least the largest member's. Its id is the group's name.
StoredRun fold_group(std::span<const StoredRun> members);

// The same with rows of their own, statistics and run.json. A single member is itself.
Input group_input(std::vector<StoredRun> members);

// A run.json with the group's name as its first member.
std::string json_with_group(std::string_view json, const std::string& group);

}  // namespace tacho
