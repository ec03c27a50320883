// Everything `tacho monitor` is told, after flags and environment were merged (cromwell-bigquery.md 1.1). Plain data;
// for an absent value tacho-deliver asks the metadata server, or it is unknown.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace tacho {

enum class MonitorForm {
  image,   // the monitoring container beside the task
  script,  // started by the task's own script, in its container
  local,   // by a person
};
std::string_view form_name(MonitorForm form);

// What a row says of the machine. Given by flag or variable, or found here where no metadata server answers.
struct MachineIdentity {
  std::optional<int64_t> instance_id;
  std::optional<std::string> instance_name, zone, cpu_platform, project_id;
  std::optional<bool> preemptible;
};

struct TaskKey {
  std::optional<std::string> workflow_id, task_call_name;
  std::optional<int64_t> shard, attempt;
};

// Where rows go; no dataset: nowhere but to local output.
struct BigQueryTarget {
  std::string dataset;
  std::string metrics_table = "metrics", runtime_table = "runtime";
  std::string endpoint, location;
  bool create = true, add_columns = false;
};

// How Google's services are reached. Files only: no secret is ever a value here.
struct GoogleAccess {
  std::string metadata_host, access_token_file, credentials, token_uri;
  bool no_cloud = false;  // never ask the metadata server
};

struct MonitorSettings {
  MonitorForm form = MonitorForm::local;
  MachineIdentity given;
  TaskKey task;
  BigQueryTarget bigquery;
  GoogleAccess google;
  std::vector<std::string> disk_mounts;  // empty: the default of mounts.h
  bool remote_mounts = false;            // also FUSE and network file systems
  int64_t measure_interval_ns = kNsPerSec;
  std::optional<int64_t> report_interval_ns;  // absent: early, then by the kind of machine
  std::string spool_dir;                      // empty: the working mount, else TMPDIR
  std::string output;                         // rows as JSON lines; "-" is stdout; empty: none
  bool strict = false;
};

}  // namespace tacho
