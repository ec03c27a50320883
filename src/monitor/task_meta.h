// meta.json of a task's spool (spool/bq_record.h): where rows go, which task it is, and what is known here of the
// machine if no metadata server answers. No secret is in it. Thread-safe (no state).
#pragma once
#include <string>
#include <string_view>

#include "monitor/settings.h"
#include "os/file.h"

namespace tacho {

// instance_id: a positive number of 63 bits from machine-id and boot id; instance_name: the short host name;
// cpu_platform: the processor's model.
MachineIdentity local_identity(const Roots& roots, std::string_view cpu_model);

std::string task_meta(const MonitorSettings& settings, const MachineIdentity& fallback, std::string_view run_id,
                      bool ended);

// The members that a row in a file of its own begins with, `"zone":"z","shard":3,`: who the task and the machine are.
// In the spool they stand once, in meta.json. 'R': of a row of runtime, else of metrics.
std::string local_members(const MonitorSettings& settings, const MachineIdentity& fallback, std::string_view run_id,
                          char table);

}  // namespace tacho
