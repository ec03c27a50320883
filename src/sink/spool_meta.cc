#include "sink/spool_meta.h"

#include <optional>

#include "base/text.h"
#include "base/time_text.h"
#include "codec/run_words.h"
#include "os/environment.h"
#include "os/metadata_off.h"
#include "spool/contract.h"

namespace tacho {
namespace {

void write_host(JsonWriter& json, const Run& run) {
  const Host& host = run.host;
  // `other` is the seed's name of the same field: either hides it.
  const auto shows = [&](std::string_view name, std::string_view other) {
    return !is_hidden(run, name) && (other.empty() || !is_hidden(run, other));
  };
  const auto text = [&](std::string_view name, const std::optional<std::string>& value, std::string_view other = {}) {
    if (value && !value->empty() && shows(name, other)) json.key(name).value(*value);
  };
  const auto integer = [&](std::string_view name, const std::optional<int64_t>& value, std::string_view other = {}) {
    if (value && shows(name, other)) json.key(name).integer(*value);
  };
  text("host_id", host.host_id);
  text("host_hostname", host.host_hostname, "host_name");
  text("host_ip", host.host_ip);
  text("host_server_allocation", host.host_server_allocation, "host_allocation");
  integer("host_vcpus", host.host_vcpus);
  text("host_cpu_model", host.host_cpu_model);
  integer("host_memory_mib", host.host_memory_mib);
  text("host_gpu_model", host.host_gpu_model);
  integer("host_gpu_count", host.host_gpu_count);
  integer("host_gpu_memory_mib", host.host_gpu_memory_mib, "host_gpu_vram_mib");
  if (host.host_storage_gb && shows("host_storage_gb", ""))
    json.key("host_storage_gb").number(*host.host_storage_gb, 3);
}

// Named or hashed by the user: whoever delivers later, perhaps without these variables, must not put the cloud's id
// there.
bool host_id_is_settled() { return environment_raw("TACHO_HOST_ID_VALUE") || !environment("TACHO_HOST_ID").empty(); }

struct CloudVariable {
  const char* name;
  std::string_view field;
};
constexpr CloudVariable kCloudVariables[] = {{"TACHO_CLOUD_VENDOR_ID", "cloud_vendor_id"},
                                             {"TACHO_CLOUD_ACCOUNT_ID", "cloud_account_id"},
                                             {"TACHO_CLOUD_REGION_ID", "cloud_region_id"},
                                             {"TACHO_CLOUD_ZONE_ID", "cloud_zone_id"},
                                             {"TACHO_CLOUD_INSTANCE_TYPE", "cloud_instance_type"}};

// Nothing when the user said nothing; empty when the field is to be hidden.
std::optional<std::string> said_of(const CloudVariable& variable) {
  const auto value = environment_raw(variable.name);
  if (!value) return std::nullopt;
  std::string text = valid_utf8(trim(*value));
  return lower(text) == "unknown" ? std::string() : text;
}

// What the user said of the cloud holds for whoever delivers later, too.
void write_named_cloud(JsonWriter& json, const Run& run) {
  for (const CloudVariable& variable : kCloudVariables)
    if (const auto said = said_of(variable); said && !said->empty() && !is_hidden(run, variable.field))
      json.key(variable.field).value(*said);
}

void write_hidden(JsonWriter& json, const Run& run) {
  json.array();
  for (const std::string& field : run.hidden) json.value(field);
  for (const CloudVariable& variable : kCloudVariables)
    if (said_of(variable) == "") json.value(variable.field);
  json.end_array();
}

// Where the bucket is, as the deliverer finds it out: rows do not go to another bucket of the same name.
std::string s3_endpoint() {
  for (const char* name : {"TACHO_S3_ENDPOINT", "AWS_ENDPOINT_URL_S3"})
    if (std::string value = environment(name); !value.empty()) return value;
  return {};
}

// The body of the start call (sentinel.md §2.1); what the user did not say of the cloud, the deliverer asks.
void write_start(JsonWriter& json, const Run& run) {
  json.object();
  for (const MetadataField& field : kMetadataFields)
    if (const std::string& value = run.metadata.*field.member; !value.empty() && !is_hidden(run, field.name))
      json.key(field.name).value(value);
  if (!run.command.empty() && !is_hidden(run, "command")) {
    Writer words;
    JsonWriter list(words);
    list.array();
    for (const std::string& word : run.command) list.value(word);
    list.end_array();
    json.key("command").value(words.view());
  }
  if (!run.metadata.tags.empty() && !is_hidden(run, "tags")) {
    json.key("tags").array();
    for (const std::string& tag : run.metadata.tags) json.value(tag);
    json.end_array();
  }
  write_host(json, run);
  write_named_cloud(json, run);
  json.end_object();
}

void write_outcome(JsonWriter& json, const Outcome& outcome) {
  if (outcome.state == RunState::running) {
    json.null();
    return;
  }
  const bool failed = outcome.state == RunState::failed || (outcome.exit_code && *outcome.exit_code != 0);
  json.object();
  json.key(meta::kRunStatus).value(failed ? meta::kRunFailed : meta::kRunFinished);
  if (outcome.exit_code) json.key(meta::kExitCode).integer(*outcome.exit_code);
  const IsoTime time(outcome.finished_realtime_ns);
  json.key(meta::kFinishedAt).value(std::string(time.view().substr(0, 19)) + "Z");
  json.end_object();
}

}  // namespace

void write_spool_meta(Writer& out, const Run& run, const SpoolTarget& target, std::string_view header,
                      bool host_known) {
  JsonWriter json(out, true);
  json.object();
  json.key(meta::kVersion).integer(kSpoolFormat);
  json.key(meta::kTachoVersion).value(run.version);
  json.key(meta::kKind).value(target.kind);
  json.key(meta::kRun).value(run.id);
  json.key(meta::kApiUrl).value(target.api_url);
  json.key(meta::kBucketUri).value(target.bucket_uri);
  if (!target.bucket_uri.empty()) json.key(meta::kS3Endpoint).value(s3_endpoint());
  json.key(meta::kDataSource).value(target.data_source);
  json.key(meta::kStoreFolder).value(target.store_folder);
  json.key(meta::kNoCloud).value(target.no_cloud || metadata_is_off());
  json.key(meta::kHidden);
  write_hidden(json, run);
  json.key(meta::kHostKnown).value(host_known);
  json.key(meta::kHostIdSettled).value(host_id_is_settled());
  json.key(meta::kHeader).value(header);
  json.key(meta::kStart);
  write_start(json, run);
  json.key(meta::kOutcome);
  write_outcome(json, run.outcome);
  json.end_object();
  out.put('\n');
}

}  // namespace tacho
