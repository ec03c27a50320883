#include "deliver/metric_meta.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/units.h"
#include "net/http/url.h"
#include "os/environment.h"
#include "spool/contract.h"
#include "spool/layout.h"

namespace tacho {
namespace {

int64_t integer_in(const Json& object, std::string_view key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}

std::optional<int64_t> known_integer(const Json& object, std::string_view key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<int64_t>();
}

bool series_flag(const Json& object, std::string_view key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

std::optional<double> series_number(const Json& object, std::string_view key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

SeriesLabels labels_in(const Json& object, std::string_view key) {
  SeriesLabels labels;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return labels;
  for (const Json& pair : *found)
    if (pair.is_array() && pair.size() == 2 && pair[0].is_string() && pair[1].is_string())
      labels.emplace_back(pair[0].get<std::string>(), pair[1].get<std::string>());
  return labels;
}

// Puts an attribute in the place of an older one of that name.
void put_attribute(Json& resource, const std::string& key, const Json& value) {
  for (Json& pair : resource)
    if (pair.is_array() && pair.size() == 2 && pair[0] == key) {
      pair[1] = value;
      return;
    }
  resource.push_back(Json::array({key, value}));
}

constexpr double kBytesPerMib = 1048576;
using Source = SeriesSource;

}  // namespace

Result<MetricMeta> parse_metric_meta(std::string_view text) {
  const auto spooled = parse_meta(text);
  if (!spooled) return spooled.error();
  const Json& series = spooled->series;
  if (!series.is_object())
    return Error{Code::invalid, "the run does not say what its series are", std::string(kMetaName), "it is kept"};
  MetricMeta meta;
  meta.run = spooled->run;
  meta.url = spooled->api_url;
  meta.header = spooled->header;
  meta.store_folder = spooled->store_folder;
  meta.otlp = spooled->kind == kOtlpKind;
  meta.system = series_flag(series, meta::kSystem);
  meta.json = series_flag(series, meta::kJsonBody);
  meta.gzip = series_flag(series, meta::kGzip);
  meta.started_ms = integer_in(series, meta::kStartedMs);
  meta.labels = labels_in(series, meta::kLabels);
  meta.info = labels_in(series, meta::kInfo);
  meta.cpu_request = series_number(series, meta::kCpuRequest);
  meta.memory_request = series_number(series, meta::kMemoryRequest);
  for (const auto& [name, value] : meta.info)
    if (name == "tacho_version") meta.version = value;
  if (const auto end = series.find(meta::kEnd); end != series.end() && end->is_object())
    meta.end = MetricEnd{integer_in(*end, meta::kEndMs), known_integer(*end, meta::kExitCode),
                         known_integer(*end, meta::kMemoryPeak)};
  return meta;
}

Result<MetricState> parse_metric_state(std::string_view text) {
  const Json json = parse_json(text);
  if (const Status good = check_record(json, kStateName); !good) return good.error();
  MetricState state;
  state.chunks = std::max<int64_t>(0, integer_in(json, state::kChunks));
  state.decided = std::max<int64_t>(0, integer_in(json, state::kDecided));
  state.sent = integer_in(json, state::kSent);
  state.refused = integer_in(json, state::kRefused);
  state.letter_bytes = std::max<int64_t>(0, integer_in(json, state::kLetterBytes));
  if (const auto resource = json.find(state::kResource); resource != json.end()) state.resource = *resource;
  return state;
}

std::string metric_state_json(const MetricState& state) {
  const Json json{{state::kVersion, kSpoolFormat},   {state::kChunks, state.chunks},
                  {state::kDecided, state.decided},  {state::kSent, state.sent},
                  {state::kRefused, state.refused},  {state::kLetterBytes, state.letter_bytes},
                  {state::kResource, state.resource}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

OtlpAttributes attributes_of(const Json& list) {
  OtlpAttributes attributes;
  if (!list.is_array()) return attributes;
  for (const Json& pair : list) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string()) continue;
    const std::string key = pair[0].get<std::string>();
    if (pair[1].is_string()) attributes.emplace_back(key, pair[1].get<std::string>());
    if (pair[1].is_number_integer()) attributes.emplace_back(key, pair[1].get<int64_t>());
    if (!pair[1].is_array()) continue;
    std::vector<std::string> words;
    for (const Json& word : pair[1])
      if (word.is_string()) words.push_back(word.get<std::string>());
    attributes.emplace_back(key, std::move(words));
  }
  return attributes;
}

Json full_resource(const Json& resource, const Json& start, const MetricMeta& meta) {
  Json full = resource.is_array() ? resource : Json::array();
  constexpr std::array<std::pair<const char*, const char*>, 5> kCloud{{{"cloud.provider", "cloud_vendor_id"},
                                                                       {"cloud.region", "cloud_region_id"},
                                                                       {"cloud.availability_zone", "cloud_zone_id"},
                                                                       {"cloud.account.id", "cloud_account_id"},
                                                                       {"host.type", "cloud_instance_type"}}};
  for (const auto& [key, field] : kCloud)
    if (const std::string value = text_of(start, field); !value.empty()) put_attribute(full, key, value);
  const std::string attributes = environment("OTEL_RESOURCE_ATTRIBUTES");
  for (const std::string_view pair : split(attributes, ',')) {
    const size_t equals = pair.find('=');
    const std::string key(trim(pair.substr(0, equals)));
    if (equals != pair.npos && !key.empty())
      put_attribute(full, valid_utf8(percent_decode(key)), valid_utf8(percent_decode(trim(pair.substr(equals + 1)))));
  }
  if (const std::string name = environment("OTEL_SERVICE_NAME"); !name.empty())
    put_attribute(full, "service.name", valid_utf8(name));
  for (const auto& [name, value] : meta.labels)
    if (name != "job" && name != "instance" && name != "job_name" && name != "run_id") put_attribute(full, name, value);
  return full;
}

std::vector<MetricSeries> prometheus_series(const MetricMeta& meta) {
  const auto by = [](const char* label, const char* value) { return SeriesLabels{{label, value}}; };
  std::vector<MetricSeries> all;
  all.push_back({.name = "tacho_job_info", .labels = meta.info, .source = Source::constant, .constant = 1});
  all.push_back({.name = "tacho_job_running", .source = Source::running});
  all.push_back({.name = "tacho_job_exit_code", .source = Source::exit_code});
  if (meta.started_ms > 0)
    all.push_back({.name = "tacho_job_start_time_seconds",
                   .source = Source::constant,
                   .constant = ms_as_seconds(meta.started_ms)});
  all.push_back({.name = "tacho_job_update_time_seconds", .source = Source::update_time});
  all.push_back({.name = "tacho_job_end_time_seconds", .source = Source::end_time});
  const auto counter = [&](const char* name, SeriesLabels labels, const char* column) {
    all.push_back({.name = name, .labels = std::move(labels), .source = Source::counter, .column = column});
  };
  counter("tacho_job_cpu_seconds_total", by("mode", "user"), "process_utime");
  counter("tacho_job_cpu_seconds_total", by("mode", "system"), "process_stime");
  const auto level = [&](const char* name, const char* column, double factor, Source source = Source::level) {
    all.push_back({.name = name, .source = source, .column = column, .factor = factor});
  };
  level("tacho_job_memory_bytes", "process_memory_mib", kBytesPerMib);
  level("tacho_job_memory_peak_bytes", "process_memory_mib", kBytesPerMib, Source::peak);
  counter("tacho_job_disk_bytes_total", by("direction", "read"), "process_disk_read_bytes");
  counter("tacho_job_disk_bytes_total", by("direction", "write"), "process_disk_write_bytes");
  level("tacho_job_processes", "process_children", 1, Source::processes);
  if (meta.cpu_request)
    all.push_back({.name = "tacho_job_cpu_request_cores", .source = Source::constant, .constant = *meta.cpu_request});
  if (meta.memory_request)
    all.push_back(
        {.name = "tacho_job_memory_request_bytes", .source = Source::constant, .constant = *meta.memory_request});
  counter("tacho_job_cpu_throttled_seconds_total", {}, "cgroup_throttled_time");
  counter("tacho_job_oom_kills_total", {}, "cgroup_oom_kills");
  level("tacho_job_gpu_usage", "process_gpu_usage", 1);
  level("tacho_job_gpu_memory_bytes", "process_gpu_vram_mib", kBytesPerMib);
  if (!meta.system) return all;
  counter("tacho_system_cpu_seconds_total", by("mode", "user"), "system_utime");
  counter("tacho_system_cpu_seconds_total", by("mode", "system"), "system_stime");
  level("tacho_system_memory_used_bytes", "system_memory_used_mib", kBytesPerMib);
  counter("tacho_system_disk_bytes_total", by("direction", "read"), "system_disk_read_bytes");
  counter("tacho_system_disk_bytes_total", by("direction", "write"), "system_disk_write_bytes");
  counter("tacho_system_network_bytes_total", by("direction", "receive"), "system_net_recv_bytes");
  counter("tacho_system_network_bytes_total", by("direction", "transmit"), "system_net_sent_bytes");
  return all;
}

std::vector<MetricSeries> otlp_series(const MetricMeta& meta) {
  std::vector<MetricSeries> all;
  const auto add = [&](const char* name, const char* unit, Source source, const char* column, double factor,
                       OtlpShape shape, bool is_integer, SeriesLabels labels = {}) {
    all.push_back({.name = name,
                   .labels = std::move(labels),
                   .source = source,
                   .column = column,
                   .factor = factor,
                   .unit = unit,
                   .shape = shape,
                   .is_integer = is_integer});
  };
  const auto cpu = [&](const char* name, const char* mode, const char* column) {
    add(name, "s", Source::counter, column, 1, OtlpShape::monotonic, false, {{"cpu.mode", mode}});
  };
  const auto io = [&](const char* name, const char* key, const char* way, const char* column) {
    add(name, "By", Source::counter, column, 1, OtlpShape::monotonic, true, {{key, way}});
  };
  cpu("process.cpu.time", "user", "process_utime");
  cpu("process.cpu.time", "system", "process_stime");
  add("process.memory.usage", "By", Source::level, "process_memory_mib", kBytesPerMib, OtlpShape::sum, true);
  io("process.disk.io", "disk.io.direction", "read", "process_disk_read_bytes");
  io("process.disk.io", "disk.io.direction", "write", "process_disk_write_bytes");
  add("process.uptime", "s", Source::uptime, "", 1, OtlpShape::gauge, false);
  add("tacho.process.memory.peak", "By", Source::peak, "process_memory_mib", kBytesPerMib, OtlpShape::gauge, true);
  add("tacho.process.count", "{process}", Source::processes, "process_children", 1, OtlpShape::gauge, true);
  add("tacho.cpu.throttled.time", "s", Source::counter, "cgroup_throttled_time", 1, OtlpShape::monotonic, false);
  add("tacho.oom.kills", "{kill}", Source::counter, "cgroup_oom_kills", 1, OtlpShape::monotonic, true);
  add("tacho.gpu.usage", "{gpu}", Source::level, "process_gpu_usage", 1, OtlpShape::gauge, false);
  add("tacho.gpu.memory.usage", "By", Source::level, "process_gpu_vram_mib", kBytesPerMib, OtlpShape::gauge, true);
  add("tacho.exit.code", "1", Source::exit_code, "", 1, OtlpShape::gauge, true);
  if (!meta.system) return all;
  cpu("system.cpu.time", "user", "system_utime");
  cpu("system.cpu.time", "system", "system_stime");
  constexpr std::array<std::pair<const char*, const char*>, 4> kStates{{{"used", "system_memory_used_mib"},
                                                                        {"free", "system_memory_free_mib"},
                                                                        {"cached", "system_memory_cached_mib"},
                                                                        {"buffers", "system_memory_buffers_mib"}}};
  for (const auto& [word, column] : kStates)
    add("system.memory.usage", "By", Source::level, column, kBytesPerMib, OtlpShape::sum, true,
        {{"system.memory.state", word}});
  io("system.disk.io", "disk.io.direction", "read", "system_disk_read_bytes");
  io("system.disk.io", "disk.io.direction", "write", "system_disk_write_bytes");
  io("system.network.io", "network.io.direction", "receive", "system_net_recv_bytes");
  io("system.network.io", "network.io.direction", "transmit", "system_net_sent_bytes");
  return all;
}

}  // namespace tacho
