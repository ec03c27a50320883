#include "sink/metric_sink.h"

#include <sys/utsname.h>

#include "base/path.h"
#include "base/text.h"
#include "base/units.h"
#include "base/writer.h"
#include "export/figures.h"
#include "export/metrics.h"
#include "os/environment.h"
#include "sink/metric_address.h"
#include "sink/spool_sink.h"
#include "spool/contract.h"
#include "spool/metric_settings.h"

namespace tacho {
namespace {

constexpr size_t kMostCommandBytes = 8192;

void put_labels(JsonWriter& json, const MetricLabels& labels) {
  json.array();
  for (const auto& [name, value] : labels) json.array().value(name).value(value).end_array();
  json.end_array();
}

// The attributes of the resource, as [key, value] of which the value is a text, a number or a list.
class ResourceWriter {
 public:
  ResourceWriter(JsonWriter& json, const Run& run) : json_(json), run_(run) {}

  void text(std::string_view key, std::string_view value, std::string_view field = {}, std::string_view other = {}) {
    if (value.empty() || (!field.empty() && is_hidden(run_, field)) || (!other.empty() && is_hidden(run_, other)))
      return;
    json_.array().value(key).value(value).end_array();
  }
  void known(std::string_view key, const std::optional<std::string>& value, std::string_view field,
             std::string_view other = {}) {
    if (value) text(key, *value, field, other);
  }
  void process() {
    if (run_.pid > 0 && !is_hidden(run_, "pid")) json_.array().value("process.pid").integer(run_.pid).end_array();
    if (!run_.command.empty() && !is_hidden(run_, "command")) {
      text("process.executable.name", last_part(run_.command.front()));
      json_.array().value("process.command_args").array();
      size_t bytes = 0;
      for (const std::string& word : run_.command)
        if (bytes += word.size(); bytes <= kMostCommandBytes) json_.value(word);
      json_.end_array().end_array();
    }
    text("process.working_directory", run_.working_directory, "working_directory");
  }

 private:
  JsonWriter& json_;
  const Run& run_;
};

std::string machine_word() {
  utsname names{};
  if (::uname(&names) != 0) return {};
  const std::string machine = names.machine;
  if (machine == "x86_64") return "amd64";
  return machine == "aarch64" ? "arm64" : machine;
}

bool is_ci(std::string_view orchestrator) {
  return orchestrator == "github_actions" || orchestrator == "gitlab_ci" || orchestrator == "jenkins";
}

void put_resource(JsonWriter& json, const Run& run) {
  const Metadata& said = run.metadata;
  const ScheduledJob& job = run.started_by.job;
  json.array();
  ResourceWriter out(json, run);
  out.text("service.name", JobFigures(run).job_label());
  out.text("service.instance.id", run.id);
  out.text("deployment.environment.name", said.env, "env");
  out.known("host.name", run.host.host_hostname, "host_name", "host_hostname");
  out.known("host.id", run.host.host_id, "host_id");
  out.text("host.arch", machine_word());
  out.known("host.cpu.model.name", run.host.host_cpu_model, "host_cpu_model");
  out.text("os.type", "linux");
  out.process();
  out.text("container.image.name", said.container_image, "container_image");
  if (job.scheduler == "kubernetes") {
    // A pod's name is that of its host, too; what run.json hides is the same.
    const bool hides_host = is_hidden(run, "host_name") || is_hidden(run, "host_hostname");
    if (!hides_host) out.text("k8s.pod.name", job.id, "external_run_id");
    out.text("k8s.namespace.name", job.cluster);
    if (!hides_host) out.text("k8s.node.name", job.node);
  }
  if (is_ci(run.started_by.orchestrator)) {
    out.text("cicd.pipeline.name", said.job_name, "job_name");
    out.text("cicd.pipeline.run.id", said.external_run_id, "external_run_id");
    out.text("cicd.pipeline.task.name", said.stage_name, "stage_name");
  }
  out.text("tacho.run.id", run.id);
  out.text("tacho.orchestrator", said.orchestrator, "orchestrator");
  out.text("tacho.executor", said.executor, "executor");
  out.text("tacho.external_run_id", said.external_run_id, "external_run_id");
  out.text("tacho.project", said.project_name, "project_name");
  out.text("tacho.stage", said.stage_name, "stage_name");
  out.text("tacho.task", said.task_name, "task_name");
  out.text("tacho.team", said.team, "team");
  out.text("tacho.scope", "tree");
  json.end_array();
}

class MetricSink final : public SpoolSink {
 public:
  MetricSink(SpoolWriter writer, MetricAddress address, const SinkOptions& options, std::string name)
      : SpoolSink(std::move(writer),
                  {.kind = address.otlp ? kOtlpKind : kPrometheusKind, .api_url = std::move(address.url)}, options,
                  std::move(name)),
        address_(std::move(address)) {}

 protected:
  void encode_meta(Writer& out, bool host_known) const override {
    Writer text;
    put_base_meta(text, host_known);
    const std::string_view whole = text.view();
    out.put(whole.substr(0, whole.rfind('}')));
    out.put(",\n  \"");
    out.put(meta::kSeries);
    out.put("\": ");
    JsonWriter json(out);
    put_series(json, *run());
    out.put("\n}\n");
  }

 private:
  void put_series(JsonWriter& json, const Run& run) const {
    json.object();
    json.key(meta::kWithRunId).value(address_.with_run_id).key(meta::kSystem).value(address_.system);
    json.key(meta::kJsonBody).value(address_.json).key(meta::kGzip).value(address_.gzip);
    json.key(meta::kStartedMs).integer(run.outcome.started_realtime_ns / kNsPerMs);
    MetricLabels labels = job_labels(run, false);
    labels.insert(labels.begin(), {"job", "tacho"});
    if (run.host.host_hostname && !is_hidden(run, "host_name") && !is_hidden(run, "host_hostname"))
      labels.insert(labels.begin(), {"instance", *run.host.host_hostname});
    if (address_.with_run_id) labels.insert(labels.begin(), {"run_id", run.id});
    json.key(meta::kLabels);
    put_labels(json, labels);
    json.key(meta::kInfo);
    put_labels(json, job_info_labels(run));
    const RequestedSize& asked = run.started_by.requested;
    if (const auto cpus = asked.cpus ? asked.cpus : run.limits.cpu_quota_cores)
      json.key(meta::kCpuRequest).number(*cpus, 6);
    if (const auto bytes = asked.memory_bytes ? asked.memory_bytes : run.limits.memory_limit_bytes)
      json.key(meta::kMemoryRequest).integer(*bytes);
    if (address_.otlp) {
      json.key(meta::kResource);
      put_resource(json, run);
    }
    if (run.outcome.state != RunState::running) {
      json.key(meta::kEnd).object().key(meta::kEndMs).integer(run.outcome.finished_realtime_ns / kNsPerMs);
      if (run.outcome.exit_code) json.key(meta::kExitCode).integer(*run.outcome.exit_code);
      if (run.totals.memory_peak_bytes) json.key(meta::kMemoryPeak).integer(*run.totals.memory_peak_bytes);
      json.end_object();
    }
    json.end_object();
  }

  MetricAddress address_;
};

}  // namespace

Result<std::unique_ptr<Sink>> open_metric_sink(const std::string& destination, const SinkOptions& options) {
  auto address = parse_metric_address(destination);
  if (!address) return address.error();
  if (!address->otlp)
    if (const auto headers = parse_header_lines(environment_or("TACHO_PROMETHEUS_HEADERS")); !headers) {
      Error error = headers.error();
      error.what = "TACHO_PROMETHEUS_HEADERS: " + error.what;
      return error;
    }
  auto writer = make_spool();
  if (!writer) return writer.error();
  return std::unique_ptr<Sink>(
      std::make_unique<MetricSink>(std::move(*writer), std::move(*address), options, destination));
}

}  // namespace tacho
