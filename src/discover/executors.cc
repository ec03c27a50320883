// Schedulers and batch services: how each is recognised, what it calls the job, and what was asked for.
#include <array>

#include "base/text.h"
#include "discover/starter_values.h"

namespace tacho {
namespace {

constexpr size_t kJobAdLimit = 1 << 20;
constexpr const char* kNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

void add_queue(const Variables& v, Starter& found, const std::string& name) {
  if (v.has(name)) found.metadata.tags.push_back("queue=" + v.text(name));
}
void ask_cpus(Starter& found, std::optional<int64_t> cpus) {
  if (cpus && *cpus > 0) found.started_by.requested.cpus = static_cast<double>(*cpus);
}
std::string up_to(const std::string& text, const char* ends) { return text.substr(0, text.find_first_of(ends)); }

// "02:30:00", "30:00" or plain seconds.
std::optional<double> clock_seconds(std::string_view text) {
  double seconds = 0;
  if (text.empty()) return std::nullopt;
  for (const std::string_view part : split(text, ':')) {
    const auto number = parse_int<int64_t>(part);
    if (!number || *number < 0) return std::nullopt;
    seconds = seconds * 60 + static_cast<double>(*number);
  }
  return seconds;
}

bool is_slurm(const Variables& v) { return v.has("SLURM_JOB_ID"); }
void slurm(const Variables& v, Starter& found) { found = slurm_job(v); }

bool is_pbs(const Variables& v) { return v.has("PBS_JOBID"); }
void pbs(const Variables& v, Starter& found) {
  ScheduledJob& job = found.started_by.job;
  job.raw_id = v.text("PBS_JOBID");
  job.id = up_to(job.raw_id, ".");
  found.metadata.job_name = v.text("PBS_JOBNAME");
  job.index = v.number("PBS_ARRAY_INDEX");
  if (!job.index) job.index = v.number("PBS_ARRAYID");
  job.nodes = v.number("PBS_NUM_NODES");
  add_queue(v, found, "PBS_QUEUE");
  auto cpus = v.number("NCPUS");
  if (!cpus) cpus = v.number("PBS_NP");
  if (!cpus) cpus = v.number("PBS_NUM_PPN");
  ask_cpus(found, cpus);
  found.started_by.requested.time_s = clock_seconds(v.text("PBS_WALLTIME"));
}

bool is_lsf(const Variables& v) { return v.has("LSB_JOBID"); }
void lsf(const Variables& v, Starter& found) {
  ScheduledJob& job = found.started_by.job;
  job.id = v.text("LSB_JOBID");
  found.metadata.job_name = v.text("LSB_JOBNAME");
  if (const auto index = v.number("LSB_JOBINDEX"); index && *index > 0) job.index = index;
  add_queue(v, found, "LSB_QUEUE");
  ask_cpus(found, v.number("LSB_DJOB_NUMPROC"));
}

// Jenkins has a JOB_NAME too, and others a JOB_ID: both conditions count.
bool is_sge(const Variables& v) { return v.has("JOB_ID") && (v.has("SGE_TASK_ID") || v.has("SGE_ROOT")); }
void sge(const Variables& v, Starter& found) {
  ScheduledJob& job = found.started_by.job;
  job.id = v.text("JOB_ID");
  found.metadata.job_name = v.text("JOB_NAME");
  job.index = v.number("SGE_TASK_ID");  // "undefined" is no number
  job.restart = v.number("RESTARTED");
  job.nodes = v.number("NHOSTS");
  add_queue(v, found, "QUEUE");
  ask_cpus(found, v.number("NSLOTS"));
}

// A text of a job ad without its quotes; within them a backslash stands before a quote or another one.
std::string ad_text(std::string_view value) {
  if (value.size() < 2 || value.front() != '"' || value.back() != '"') return stored_value(value);
  value = value.substr(1, value.size() - 2);
  std::string text;
  for (size_t i = 0; i < value.size() && text.size() <= 4 * kLongestValue; ++i) {
    const bool escapes = value[i] == '\\' && i + 1 < value.size() && (value[i + 1] == '"' || value[i + 1] == '\\');
    text += value[escapes ? ++i : i];
  }
  return stored_value(text);
}

// The attributes of a job ad that somebody wants, by their names in small letters: "Name = value" in any case, the
// first of several.
class JobAd {
 public:
  explicit JobAd(std::string_view ad) {
    while (!ad.empty()) take(take_part(ad, '\n'));
  }
  std::string text(std::string_view name) const {
    for (size_t i = 0; i < kNames.size(); ++i)
      if (kNames[i] == name) return values_[i].value_or("");
    return {};
  }
  std::optional<int64_t> number(std::string_view name) const {
    const auto number = parse_int<int64_t>(text(name));
    return number && *number >= 0 ? number : std::nullopt;
  }

 private:
  static constexpr std::array<std::string_view, 9> kNames{"clusterid",    "procid",         "jobbatchname",
                                                          "numjobstarts", "containerimage", "dockerimage",
                                                          "requestcpus",  "requestmemory",  "requestgpus"};

  void take(std::string_view line) {
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) return;
    const std::string_view name = trim(line.substr(0, equals));
    for (size_t i = 0; i < kNames.size(); ++i)
      if (!values_[i] && name.size() == kNames[i].size() && lower(name) == kNames[i])
        values_[i] = ad_text(trim(line.substr(equals + 1)));
  }

  std::array<std::optional<std::string>, kNames.size()> values_;
};

std::string job_ad(const Variables& v) {
  const std::string path = v.all().variable("_CONDOR_JOB_AD");
  const std::string text = path.empty() ? "" : v.file_start(path, kJobAdLimit + 1);
  return text.size() > kJobAdLimit ? "" : text;
}
bool is_condor(const Variables& v) { return !job_ad(v).empty(); }
void condor(const Variables& v, Starter& found) {
  const JobAd ad(job_ad(v));
  ScheduledJob& job = found.started_by.job;
  const std::string cluster = ad.text("clusterid"), process = ad.text("procid");
  if (!cluster.empty()) job.id = process.empty() ? cluster : cluster + "." + process;
  found.metadata.job_name = ad.text("jobbatchname");
  if (const auto starts = ad.number("numjobstarts"); starts && *starts > 0) job.restart = *starts - 1;
  std::string image = ad.text("containerimage");
  found.metadata.container_image = image.empty() ? ad.text("dockerimage") : image;
  ask_cpus(found, ad.number("requestcpus"));
  if (const auto mib = ad.number("requestmemory"); mib && *mib > 0 && *mib < (int64_t{1} << 40))
    found.started_by.requested.memory_bytes = *mib << 20;
  found.started_by.requested.gpus = ad.number("requestgpus");
}

bool is_aws_batch(const Variables& v) { return v.has("AWS_BATCH_JOB_ID"); }
void aws_batch(const Variables& v, Starter& found) {
  ScheduledJob& job = found.started_by.job;
  job.raw_id = v.text("AWS_BATCH_JOB_ID");
  job.id = up_to(job.raw_id, ":#");
  job.index = v.number("AWS_BATCH_JOB_ARRAY_INDEX");
  job.restart = v.attempt("AWS_BATCH_JOB_ATTEMPT");
  job.node = v.text("AWS_BATCH_JOB_NODE_INDEX");
  job.nodes = v.number("AWS_BATCH_JOB_NUM_NODES");
  add_queue(v, found, "AWS_BATCH_JQ_NAME");
}

bool is_gcp_batch(const Variables& v) { return v.has("BATCH_TASK_INDEX") && v.has("BATCH_TASK_COUNT"); }
void gcp_batch(const Variables& v, Starter& found) {
  found.started_by.job.index = v.number("BATCH_TASK_INDEX");
  found.started_by.job.restart = v.number("BATCH_TASK_RETRY_ATTEMPT");
}

bool is_azureml(const Variables& v) { return v.has("AZUREML_RUN_ID"); }
void azureml(const Variables& v, Starter& found) {
  found.started_by.job.id = v.text("AZUREML_RUN_ID");
  found.metadata.job_name = v.text("AZUREML_ARM_PROJECT_NAME");
  found.metadata.project_name = v.text("AZUREML_ARM_WORKSPACE_NAME");
}

bool is_azure_batch(const Variables& v) { return v.has("AZ_BATCH_JOB_ID"); }
void azure_batch(const Variables& v, Starter& found) {
  found.started_by.job.id = v.text("AZ_BATCH_JOB_ID");
  found.metadata.task_name = v.text("AZ_BATCH_TASK_ID");
  found.started_by.job.node = v.text("AZ_BATCH_NODE_ID");
}

bool is_kubernetes(const Variables& v) { return v.has("KUBERNETES_SERVICE_HOST"); }
void kubernetes(const Variables& v, Starter& found) {
  ScheduledJob& job = found.started_by.job;
  job.id = v.first("POD_NAME", "HOSTNAME");
  job.index = v.number("JOB_COMPLETION_INDEX");
  job.cluster = v.text("POD_NAMESPACE");
  if (job.cluster.empty()) job.cluster = stored_value(trim(v.file_start(kNamespaceFile, kLongestValue)));
  job.node = v.text("NODE_NAME");
}

struct Executor {
  std::string_view name;
  bool (*is_there)(const Variables&);
  void (*read)(const Variables&, Starter&);
};
constexpr std::array kExecutors = {
    Executor{"slurm", is_slurm, slurm},
    Executor{"pbs", is_pbs, pbs},
    Executor{"lsf", is_lsf, lsf},
    Executor{"sge", is_sge, sge},
    Executor{"htcondor", is_condor, condor},
    Executor{"aws_batch", is_aws_batch, aws_batch},
    Executor{"gcp_batch", is_gcp_batch, gcp_batch},
    Executor{"azureml", is_azureml, azureml},
    Executor{"azure_batch", is_azure_batch, azure_batch},
    Executor{"kubernetes", is_kubernetes, kubernetes},
};

}  // namespace

std::optional<Starter> find_executor(const Variables& variables) {
  for (const Executor& executor : kExecutors) {
    if (!executor.is_there(variables)) continue;
    Starter found;
    executor.read(variables, found);
    found.started_by.executor = found.metadata.executor = found.started_by.job.scheduler = executor.name;
    if (found.started_by.requested.known()) found.started_by.requested.source = executor.name;
    return found;
  }
  return std::nullopt;
}

}  // namespace tacho
