// meta.json of a task's spool (spool/bq_record.h): where rows go, who the task is, and what is known here of the
// machine should no metadata server answer. No secret is in it. Thread-safe (no state).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "monitor/settings.h"
#include "os/file.h"

namespace tacho {

// instance_id: a positive number of 63 bits out of machine-id and boot id; instance_name: the short host name;
// cpu_platform: the processor's model.
MachineIdentity local_identity(const Roots& roots, std::string_view cpu_model);

std::string task_meta(const MonitorSettings& settings, const MachineIdentity& fallback, std::string_view run_id, bool ended);

}  // namespace tacho
