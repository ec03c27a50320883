// Settings of the webhook: Katib's own ConfigMap (katib-config.yaml, kind KatibConfig), which a Katib controller reads
// too, and tacho's (`tacho-config`). Pure parsers of YAML; thread-safe.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "katib/model/collector_kinds.h"

namespace tacho {

using Quantities = std::vector<std::pair<std::string, std::string>>;  // cpu → 50m, in order

struct CollectorConfig {
  std::string image;
  std::string pull_policy = "IfNotPresent";
  Quantities requests, limits;
  std::optional<bool> wait_all_processes;
};

struct KatibConfig {
  std::map<std::string_view, CollectorConfig> collectors;  // by the kind's name, of the table
  int webhook_port = 8443;
  std::string metrics_address = ":8080", healthz_address = ":18080";
  std::vector<std::string> trial_resources{"Job.v1.batch"};  // Kind.version.group
  bool inject_security_context = false;
  bool enable_leader_election = false;
  std::string leader_election_id = "3fbc96e9.katib.kubeflow.org";
  bool certificates_enabled = false;
  std::string webhook_service = "katib-controller", webhook_secret = "katib-webhook-cert";
};
// An Error names what is wrong. `faults` given: collectors that cannot be used are left out and named there instead.
Result<KatibConfig> parse_katib_config(const std::string& yaml, std::vector<std::string>* faults = nullptr);

enum class SidecarMode { container, native, automatic };
enum class WrapForm { launcher, shell };

struct TachoConfig {
  SidecarMode sidecar_mode = SidecarMode::container;
  WrapForm wrap = WrapForm::launcher;
  std::string profile = "tacho";  // tacho, drop-in; none: no argument of tacho's own, for another collector's image
  bool multiple_first = false;    // several primary pods: only index 0 reports
  bool strict = false;            // refuse what would surely hang an Experiment
  bool two_stage = false;         // the job hook labels templates even where the pod hook injects
  bool refuse_late = false;       // past the deadline: refuse instead of allowing with a warning
  bool no_istio = false;          // sidecar.istio.io/inject: "false" on injected pods
  std::string launcher_image;     // empty: the collector's
};
// From the data of the ConfigMap: every key is one setting, or all settings are in the YAML under `tacho-config.yaml`.
// An unknown key or value is an Error that names it.
Result<TachoConfig> parse_tacho_config(const std::map<std::string, std::string>& data);

}  // namespace tacho
