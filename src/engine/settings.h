// Everything a session is told, after command line, environment and configuration were merged (cli/). Plain data.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "model/metric_labels.h"
#include "model/run.h"
#include "os/text_table.h"
#include "probe/kit/probe.h"

namespace tacho {

enum class DeliverWhen { beside, later };  // by a deliverer beside the run, or by somebody else afterwards
enum class Mode { run, attach, watch };
enum class SummaryStyle { none, line, full, json };
enum class ColorMode { automatic, always, never };
inline bool use_color(ColorMode mode, int fd) {
  return mode == ColorMode::automatic ? terminal_takes_colors(fd) : mode == ColorMode::always;
}
// How the job's CPU time is summed: the kernel's own sum of a cgroup where allowed, or the tree of processes.
enum class TreeMethod { automatic, cgroup, tree };

struct Settings {
  Mode mode = Mode::run;
  std::vector<std::string> command;
  pid_t attach_pid = 0;
  std::string attach_cgroup;
  bool no_children = false;  // the attached process by itself
  bool detach = false;       // the recording goes on in a process of its own
  bool nested_pass = false;  // what records inside of it becomes its command instead
  bool fail_open = false;    // where nothing can be recorded, tacho becomes the command

  int64_t interval_ns = kNsPerSec;
  std::vector<std::string> outputs;
  std::string format;        // "", "csv", "json"
  std::string store_dir;     // resolved; empty with --no-store
  bool store_named = false;  // somebody chose it: a store that cannot be made then refuses the start
  bool quiet = false;
  SummaryStyle summary = SummaryStyle::line;
  std::vector<std::string> probes_on, probes_off;
  PssMode pss = PssMode::automatic;
  TreeMethod method = TreeMethod::automatic;
  std::vector<std::string> hide;  // single field names; group words already expanded
  size_t processes = 10'000;      // lines of processes.csv; 0: no such file
  bool devices = true;            // devices.csv is written
  DeliverWhen deliver = DeliverWhen::beside;
  bool no_cloud = false;
  std::optional<double> carbon_intensity;  // g CO2 a kWh
  std::optional<int64_t> timeout_ns;
  int64_t kill_after_ns = 10 * kNsPerSec;
  bool strict = false;
  int64_t upload_interval_ns = 60 * kNsPerSec;  // between the batches of a remote output
  std::string data_source = "inline";  // or "local": what the service calls rows that come with the finish call
  Metadata metadata;
  MetricLabels metric_labels;  // extra labels of metrics text
  RequestedSize request;       // what the user says was asked for
  bool detect = true;          // look at the surroundings for who started the job
  bool verbose = false;
  ColorMode color = ColorMode::automatic;
  std::optional<int64_t> progress_ns;  // a progress line every so often; empty: none
  bool live = false;                   // what tacho top shows, below the job's output on a terminal
  bool compatible = false;             // called as resource-tracker
};

}  // namespace tacho
