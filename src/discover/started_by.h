// Detects who started the job: variables of the environment, a few files that they name, and the nearest ancestors
// (docs/formats/engines.md). No process is started and no network is asked; variables whose names speak of tokens,
// secrets or passwords are never read. Start-up only: allocates, takes some 0.1 ms. Thread-safe (no state).
#pragma once
#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "model/run.h"
#include "model/started_by.h"
#include "os/file.h"

namespace tacho {

using CommandLines = std::vector<std::vector<std::string>>;

// What detection may look at; tests put their own in its place.
struct JobSurroundings {
  std::function<std::string(const std::string& name)> variable;                  // as it stands; empty when unset
  std::function<std::string(const std::string& path, size_t limit)> file_start;  // of a plain file; else empty
  std::function<const CommandLines&()> ancestors;  // the parent first; read when they are asked for
  std::vector<std::string> command = {};           // that is about to be started
};
// Of this process, whose variables and ancestors the job will have.
JobSurroundings own_surroundings(const Roots& roots);
// Slurm's TaskProlog has the environment of the task that is to come, whose process is a copy of slurmstepd until then.
bool is_prolog_of_task(pid_t pid);
// Of a process that runs already: its environment as it was started with. Empty where it may not be read. Of a task of
// Slurm that has not begun, our own, which is its TaskProlog's.
JobSurroundings surroundings_of(const Roots& roots, pid_t pid);

// What was found: metadata that nobody gave, and the rest.
struct Starter {
  Metadata metadata;  // orchestrator and executor included; tags are those of a queue or a pipeline
  StartedBy started_by;
};
Starter find_starter(const JobSurroundings& surroundings);

// Fills what the user left open, notes which fields that were, and lets the user's own size win field by field.
void apply_starter(const Starter& starter, Metadata& metadata, StartedBy& started_by);

}  // namespace tacho
