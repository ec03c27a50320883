#include "cli/variables.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "cli/concat.h"
#include "cli/options.h"
#include "os/environment.h"

namespace tacho {
namespace {

constexpr std::string_view kPrefix = "TACHO_";
// Those that are no options: of the other programs, of the Python package, of tests and of what a job is told.
constexpr auto kOthers = std::to_array<std::string_view>({
    "TACHO_ALLOW_HTTP",
    "TACHO_BIN",
    "TACHO_BQ_COLUMN_WAIT",
    "TACHO_BQ_GZIP",
    "TACHO_CLOUD_ACCOUNT_ID",
    "TACHO_CLOUD_EXTRA",
    "TACHO_CLOUD_INSTANCE_TYPE",
    "TACHO_CLOUD_PROBE",
    "TACHO_CLOUD_REGION_ID",
    "TACHO_CLOUD_VENDOR_ID",
    "TACHO_CLOUD_ZONE_ID",
    "TACHO_CONFIG",
    "TACHO_DEBUG_HTTP",
    "TACHO_DISABLE",
    "TACHO_ETC_ROOT",
    "TACHO_FINISH_TIMEOUT",
    "TACHO_GOOGLE_ACCESS_TOKEN_FILE",
    "TACHO_GOOGLE_CREDENTIALS",
    "TACHO_GOOGLE_TOKEN_URI",
    "TACHO_GPU_HELPER",
    "TACHO_HOST_ALLOCATION",
    "TACHO_HOST_ID",
    "TACHO_HOST_ID_VALUE",
    "TACHO_KEEPER_URL",
    "TACHO_LAUNCHER_DIR",
    "TACHO_NVML_LIBRARY",
    "TACHO_NXF_TASK_WORKDIR",
    "TACHO_OTLP_URL",
    "TACHO_PROCFS_ROOT",
    "TACHO_PROMETHEUS_HEADERS",
    "TACHO_PROMETHEUS_PASSWORD",
    "TACHO_PROMETHEUS_TOKEN",
    "TACHO_PROMETHEUS_URL",
    "TACHO_PROMETHEUS_USER",
    "TACHO_READY_FILE",
    "TACHO_REPLICA_INDEX",
    "TACHO_RUN",
    "TACHO_S3_ENDPOINT",
    "TACHO_S3_PATH_STYLE",
    "TACHO_S3_REGION",
    "TACHO_SENTINEL_GZIP",
    "TACHO_SENTINEL_HEARTBEAT_PATH",
    "TACHO_SERVE_TOKEN",
    "TACHO_SIDECAR",
    "TACHO_SPOOL_DIR",
    "TACHO_SPOOL_MAX",
    "TACHO_SYSFS_ROOT",
});
constexpr auto kFamilies =
    std::to_array<std::string_view>({"TACHO_IMDS_", "TACHO_KATIB_", "TACHO_TEST_", "TACHO_E2E_", "TACHO_BUILD_"});

}  // namespace

bool is_known_variable(std::string_view name) {
  if (std::find(kOthers.begin(), kOthers.end(), name) != kOthers.end()) return true;
  const auto begins = [&](std::string_view family) { return name.starts_with(family); };
  if (std::any_of(kFamilies.begin(), kFamilies.end(), begins)) return true;
  const auto options = all_options();
  return std::any_of(options.begin(), options.end(), [&](const Option& option) { return option.tacho_env == name; });
}

std::vector<std::string> unknown_variables() {
  std::vector<std::string_view> known(kOthers.begin(), kOthers.end());
  for (const Option& option : all_options())
    if (option.tacho_env.starts_with(kPrefix)) known.push_back(option.tacho_env);
  for (std::string_view& name : known) name.remove_prefix(kPrefix.size());  // which would make all of them alike
  std::vector<std::string> texts;
  for (const char* entry : environment_without({})) {
    if (entry == nullptr) break;
    const std::string_view text = entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (!name.starts_with(kPrefix) || is_known_variable(name)) continue;
    const std::string_view near = nearest(name.substr(kPrefix.size()), known);
    texts.push_back(
        "nobody reads the variable " + harmless_text(name) +
        (near.empty() ? "; tacho config lists those that count" : "; did you mean " + concat({kPrefix, near}) + "?"));
  }
  return texts;
}

}  // namespace tacho
