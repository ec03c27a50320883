// Merges flags and environment into MonitorSettings by the rules of cromwell-bigquery.md 1.1: flag, then variable, then
// (in tacho-deliver) the metadata server. For text, a variable that is set but empty counts; for numbers and booleans
// it gives a warning, and the next source is used, as for any value that cannot be read. A flag that cannot be read is
// an error. Pure but for warnings; thread-safe.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "monitor/settings.h"

namespace tacho {

struct MonitorSources {
  std::function<std::optional<std::string>(std::string_view option)> flag;    // of the command line: "dataset"
  std::function<std::optional<std::string>(std::string_view name)> variable;  // of the environment
  bool log_is_redirected = false;                                             // stdout is a file called monitoring.log
  bool in_cromwell_folder = false;                                            // the working directory is the task's
};

Result<MonitorSettings> monitor_settings(const MonitorSources& sources);

// DISK_MOUNTS: words between runs of blanks; a word in quotes may hold blanks. A quote that is not closed stays a
// letter.
std::vector<std::string> split_mounts(std::string_view text);
// 1 t T TRUE true True and 0 f F FALSE false False; nothing else.
std::optional<bool> parse_preemptible(std::string_view text);
// "NA" is −1.
std::optional<int64_t> parse_shard(std::string_view text);
// What BigQuery takes as a dataset: letters, digits and underscores, at most 1024.
bool is_dataset_name(std::string_view text);
bool is_table_name(std::string_view text);

}  // namespace tacho
