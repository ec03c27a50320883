// Markers and the launcher's record, small files in the folder that trainer and collector share. FOLDER/PID.pid says
// how the training under that pid ended; FOLDER/.tacho-launcher holds the launcher's pid and start time. Thread-safe
// (no state).
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "katib/collect/pod.h"

namespace tacho {

inline constexpr std::string_view kLauncherRecord = ".tacho-launcher";

enum class Marker { missing, completed, early_stopped, damaged };

std::string marker_path(const std::string& folder, pid_t pid);
Marker parse_marker(std::string_view text);
Marker read_marker(const std::string& folder, pid_t pid);
// "early-stopped" by temporary file and rename, mode 0666 whatever the umask: the trainer's user must overwrite it.
Status mark_early_stopped(const std::string& folder, pid_t pid);
// Pids with a marker in the folder.
std::vector<pid_t> marked_processes(const std::string& folder);

// `1234 5678901`: pid and start time in clock ticks since boot, as in /proc/PID/stat.
std::optional<ProcessId> parse_launcher_record(std::string_view text);
std::optional<ProcessId> read_launcher_record(const std::string& folder);
std::string launcher_record_path(const std::string& folder);

inline constexpr std::string_view kLauncherUsage = ".tacho-usage";
// `1234 5678901 2300000`: the launcher has ended, and this much CPU time (µs) was used below it; nothing when the file
// is another launcher's.
std::optional<int64_t> parse_launcher_usage_ns(std::string_view text, const ProcessId& launcher);
std::optional<int64_t> read_launcher_usage_ns(const std::string& folder, const ProcessId& launcher);

}  // namespace tacho
