#include "monitor/task_meta.h"

#include "base/text.h"
#include "base/writer.h"
#include "discover/host_id.h"
#include "os/identity.h"
#include "spool/contract.h"

namespace tacho {
namespace {

// FNV-1a, with its last bits spread over all: near ids must not give near numbers.
int64_t positive_hash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccd;
  hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53;
  const auto positive = static_cast<int64_t>((hash ^ (hash >> 33)) & 0x7fffffffffffffff);
  return positive > 0 ? positive : 1;
}

void put(JsonWriter& json, std::string_view name, const std::optional<std::string>& text) {
  if (text) json.key(name).value(std::string_view(*text));
}
void put(JsonWriter& json, std::string_view name, const std::optional<int64_t>& number) {
  if (number) json.key(name).integer(*number);
}
void put_set(JsonWriter& json, std::string_view name, const std::string& text) {
  if (!text.empty()) json.key(name).value(std::string_view(text));
}

void put_identity(JsonWriter& json, std::string_view name, const MachineIdentity& identity) {
  json.key(name).object();
  put(json, "project_id", identity.project_id);
  put(json, "zone", identity.zone);
  put(json, "instance_id", identity.instance_id);
  put(json, "instance_name", identity.instance_name);
  if (identity.preemptible) json.key("preemptible").value(*identity.preemptible);
  put(json, "cpu_platform", identity.cpu_platform);
  json.end_object();
}

void put_task(JsonWriter& json, const TaskKey& task) {
  put(json, "workflow_id", task.workflow_id);
  put(json, "task_call_name", task.task_call_name);
  put(json, "shard", task.shard);
  put(json, "attempt", task.attempt);
}

void put_destination(JsonWriter& json, const MonitorSettings& settings) {
  const BigQueryTarget& target = settings.bigquery;
  json.key(meta::kDestination).object();
  put_set(json, meta::kProject, settings.given.project_id.value_or(""));
  json.key(meta::kDataset).value(std::string_view(target.dataset));
  json.key(meta::kTables).object();
  json.key(meta::kRuntimeTable).value(std::string_view(target.runtime_table));
  json.key(meta::kMetricsTable).value(std::string_view(target.metrics_table));
  json.end_object();
  json.key(meta::kEndpoint).value(std::string_view(target.endpoint));  // empty: Google's
  put_set(json, meta::kLocation, target.location);
  json.key(meta::kCreate).value(target.create ? meta::kCreateAuto : meta::kCreateNever);
  json.key(meta::kAddColumns).value(target.add_columns);
  json.end_object();
}

void put_google(JsonWriter& json, const GoogleAccess& google) {
  json.key(meta::kGoogle).object();
  json.key(meta::kNoCloud).value(google.no_cloud);
  json.end_object();
}

// Beyond 2^53 a double, which many readers make of a number, is not exact.
void put_exact(JsonWriter& json, std::string_view name, int64_t number) {
  constexpr int64_t kLargestExact = int64_t{1} << 53;
  json.key(name);
  if (number > kLargestExact || number < -kLargestExact) json.value(std::string_view(std::to_string(number)));
  else json.integer(number);
}

}  // namespace

MachineIdentity local_identity(const Roots& roots, std::string_view cpu_model) {
  MachineIdentity identity;
  const std::string ids =
      machine_id(roots).value_or("") + "\n" + read_first_line(roots.proc + "/sys/kernel/random/boot_id");
  const std::string name = host_name();
  identity.instance_id = positive_hash(ids == "\n" ? name : ids);
  if (!name.empty()) identity.instance_name = valid_utf8(name.substr(0, name.find('.')));
  if (!cpu_model.empty()) identity.cpu_platform = valid_utf8(cpu_model);
  return identity;
}

std::string task_meta(const MonitorSettings& settings, const MachineIdentity& fallback, std::string_view run_id,
                      bool ended) {
  Writer out;
  JsonWriter json(out, true);
  json.object();
  json.key(meta::kKind).value(kBigQueryKind).key(meta::kForm).value(meta::kFormMonitor).key(meta::kRun).value(run_id);
  json.key(meta::kStrict).value(settings.strict);
  put_destination(json, settings);
  put_google(json, settings.google);
  put_identity(json, meta::kGiven, settings.given);
  put_identity(json, meta::kFallback, fallback);
  json.key(meta::kTask).object();
  put_task(json, settings.task);
  json.end_object();
  json.key(meta::kMetrics).object();
  put_task(json, settings.task);
  json.key("run_id").value(run_id);
  json.end_object();
  // The metadata server of another machine, or after a reboot, would speak of somebody else.
  put_set(json, meta::kBootId, read_first_line(Roots::from_environment().proc + "/sys/kernel/random/boot_id"));
  json.key(meta::kEnded).value(ended);
  json.end_object();
  return std::string(out.view()) + "\n";
}

std::string local_members(const MonitorSettings& settings, const MachineIdentity& fallback, std::string_view run_id,
                          char table) {
  Writer out;
  JsonWriter json(out);
  const MachineIdentity& given = settings.given;
  const auto known = [](const auto& first, const auto& second) { return first ? first : second; };
  json.object();
  if (table == 'R') {
    put(json, "project_id", given.project_id);
    put(json, "zone", given.zone);
  }
  if (const auto id = known(given.instance_id, fallback.instance_id)) put_exact(json, "instance_id", *id);
  if (table == 'R') {
    put(json, "instance_name", known(given.instance_name, fallback.instance_name));
    if (given.preemptible) json.key("preemptible").value(*given.preemptible);
    put(json, "cpu_platform", known(given.cpu_platform, fallback.cpu_platform));
  }
  put_task(json, settings.task);
  if (table != 'R') json.key("run_id").value(run_id);  // a row of runtime has it
  json.end_object();
  const std::string_view text = out.view();
  return text.size() <= 2 ? std::string() : std::string(text.substr(1, text.size() - 2)) + ",";
}

}  // namespace tacho
