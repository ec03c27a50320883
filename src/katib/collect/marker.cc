#include "katib/collect/marker.h"

#include "base/text.h"
#include "base/units.h"
#include "katib/collect/shared_file.h"
#include "os/file.h"

namespace tacho {

std::string marker_path(const std::string& folder, pid_t pid) { return folder + "/" + std::to_string(pid) + ".pid"; }

Marker parse_marker(std::string_view text) {
  text = trim(text);
  if (text == "completed") return Marker::completed;
  return text == "early-stopped" ? Marker::early_stopped : Marker::damaged;
}

Marker read_marker(const std::string& folder, pid_t pid) {
  const auto text = read_shared_file(marker_path(folder, pid), 4096);
  if (!text) return Marker::missing;
  return parse_marker(*text);
}

Status mark_early_stopped(const std::string& folder, pid_t pid) {
  return replace_shared_file(marker_path(folder, pid), "early-stopped\n", 0666, false);
}

std::vector<pid_t> marked_processes(const std::string& folder) {
  std::vector<pid_t> out;
  list_directory(folder, [&](std::string_view name) {
    constexpr size_t kMost = 4096;  // a pod has fewer; a folder may be full of anything
    if (!name.ends_with(".pid") || out.size() >= kMost) return;
    if (const auto pid = parse_int<pid_t>(name.substr(0, name.size() - 4)); pid && *pid > 0) out.push_back(*pid);
  });
  return out;
}

std::optional<ProcessId> parse_launcher_record(std::string_view text) {
  text = trim(text);
  const size_t gap = text.find(' ');
  if (gap == std::string_view::npos) return std::nullopt;
  const auto pid = parse_int<pid_t>(text.substr(0, gap));
  const auto start = parse_int<uint64_t>(trim(text.substr(gap)));
  if (!pid || !start || *pid <= 0) return std::nullopt;
  return ProcessId{*pid, *start};
}

std::string launcher_record_path(const std::string& folder) { return folder + "/" + std::string(kLauncherRecord); }

std::optional<ProcessId> read_launcher_record(const std::string& folder) {
  const auto text = read_shared_file(launcher_record_path(folder), 4096);
  return text ? parse_launcher_record(*text) : std::nullopt;
}

std::optional<int64_t> parse_launcher_usage_ns(std::string_view text, const ProcessId& launcher) {
  text = trim(text);
  const size_t gap = text.rfind(' ');
  if (gap == std::string_view::npos || parse_launcher_record(text.substr(0, gap)) != launcher) return std::nullopt;
  const auto used_us = parse_int<int64_t>(text.substr(gap + 1));
  constexpr int64_t kMostUs = INT64_MAX / kNsPerUs;
  return used_us && *used_us >= 0 && *used_us <= kMostUs ? std::optional(*used_us * kNsPerUs) : std::nullopt;
}

std::optional<int64_t> read_launcher_usage_ns(const std::string& folder, const ProcessId& launcher) {
  const auto text = read_shared_file(folder + "/" + std::string(kLauncherUsage), 4096);
  return text ? parse_launcher_usage_ns(*text, launcher) : std::nullopt;
}

}  // namespace tacho
