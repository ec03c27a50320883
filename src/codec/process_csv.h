// Lines of processes.csv. Thread-safe (no state).
#pragma once
#include <string>
#include <string_view>

#include "base/writer.h"
#include "model/process_record.h"

namespace tacho {

inline constexpr std::string_view kProcessHeader =
    "pid,ppid,name,command,started,ended,count,cpu_s,peak_memory_mib,disk_read_bytes,disk_write_bytes,gpu_vram_mib,"
    "exit\n";
inline constexpr size_t kCommandField = 3;  // of a line, from 0
inline constexpr size_t kLongestCommand = 256;
// Of a line: names and commands may double by their quotes.
inline constexpr size_t kLongestProcessLine = 1024;
inline constexpr std::string_view kShortLived = "(short-lived)", kOtherProcesses = "(other)";

// command: a field as it stands in a line, with its quotes.
void write_process_line(Writer& out, const ProcessRecord& record, std::string_view name, std::string_view command);
// The time that no line has.
void write_short_lived_line(Writer& out, int64_t cpu_ns);

// argv as the kernel has it (zeros between), as a field of a line.
std::string command_field(std::string_view argv);
// comm as text.
std::string process_name_text(const ProcessRecord& record);

}  // namespace tacho
