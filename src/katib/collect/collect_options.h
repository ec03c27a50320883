// What `tacho-katib collect` was asked to do: the flags of both older collectors, tacho's own, and the configuration
// file, checked as far as possible without a file of the trial. Plain data and pure functions; thread-safe.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "katib/collect/go_flags.h"
#include "katib/collect/stop_rules.h"
#include "katib/model/collector_kinds.h"
#include "katib/read/reader_options.h"

namespace tacho {

struct CollectOptions {
  // Flags of the older collectors.
  std::string db_address, early_stop_address, trial, path;
  std::string format = "TEXT";
  std::vector<std::string> metrics;  // the objective first
  std::vector<std::string> filters;
  ObjectiveType objective_type = ObjectiveType::none;
  int64_t poll_ns = kNsPerSec, timeout_ns = 0;  // timeout 0: wait for ever
  bool wait_all = true;
  std::vector<std::string> stop_rules;
  // tacho's own.
  const CollectorKind* kind = &usual_collector_kind();  // never null, never Custom
  Profile profile = Profile::drop_in;
  int64_t report_ns = 10 * kNsPerSec;  // 0: only at the end
  std::optional<std::string> state;    // "": none; nothing: beside the source
  bool replace_attempts = false;
  int64_t rpc_timeout_ns = 60 * kNsPerSec, report_deadline_ns = 6 * 3600 * kNsPerSec;
  std::optional<bool> echo;
  std::optional<bool> arrival_time;  // rows without a time: arrival instead of zero
  std::optional<bool> exact_json_time;
  NonFinite non_finite = NonFinite::drop;
  bool fail_on_bad_line = false;
  int64_t grace_ns = 30 * kNsPerSec;
  std::vector<std::string> ignored_processes{"istio-proxy", "envoy", "pilot-agent", "linkerd2-proxy"};
  std::string active_when;  // ENV=value
  bool passive = false;     // active_when is not met
  std::string http_path = "/metrics", http_scheme = "http", http_host = "127.0.0.1", http_ca;
  uint16_t http_port = 8080;
  std::vector<std::string> http_headers;
  int64_t scrape_interval_ns = kNsPerSec, scrape_timeout_ns = 3 * kNsPerSec;
  std::string step_metric;
  bool report_steps = false, resources = false, no_marker = false;
  int64_t resource_interval_ns = 10 * kNsPerSec;
  bool tls = false;
  std::string tls_ca, tls_cert, tls_key, tls_server_name, token_file;
  // Asked for instead of collecting.
  bool help = false, ready = false;

  bool reads(CollectorKind::Source source) const { return kind->source == source; }
  bool is_log() const { return reads(CollectorKind::Source::log); }
  // Where markers, the launcher's record and the state are; "" when there is no such folder. Without a trailing slash.
  std::string folder() const;
  const std::string& objective() const { return metrics.front(); }
};

enum class CalledAs { collect, file_collector, tf_event_collector };

// One line of the help text; also the key in the configuration file.
struct CollectFlag {
  std::string_view name, alias;  // the alias is the event collector's long name
  bool is_switch;
  std::string_view group, value, help;  // value: what stands for it in the help
};
std::span<const CollectFlag> collect_flags();

// From the command line; the values of a configuration file (--config, TACHO_KATIB_CONFIG) come first. `environment`
// gives a variable's value or "".
using CollectEnvironment = std::function<std::string(std::string_view name)>;
Result<CollectOptions> parse_collect_options(std::span<const std::string> arguments, CalledAs called_as,
                                             const CollectEnvironment& environment);

// The values of a configuration file (TOML): keys are the long names with - or _; an array is a flag given several
// times.
Result<std::vector<GivenFlag>> read_collect_config(std::string_view text, const std::string& path);

}  // namespace tacho
