// Workflow engines and CI systems: how each is recognised and what it tells.
#include <algorithm>
#include <array>

#include "base/json_view.h"
#include "base/path.h"
#include "base/text.h"
#include "discover/starter_values.h"
#include "os/environment.h"

namespace tacho {
namespace {

constexpr size_t kScriptStart = 64 * 1024;
constexpr size_t kTemplateLimit = 256 * 1024;
constexpr const char* kWrapper = "/.command.run";

// What follows `key` at the start of a line: 'name' or "name", which Nextflow writes as it stands, or a bare word.
std::string line_after(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = take_part(text, '\n');
    if (line.starts_with(key)) return std::string(unquoted(trim(line.substr(key.size()))));
  }
  return {};
}

// NXF_TASK_WORKDIR is where the task runs: of one with `scratch` some temporary folder. Our hook knows better, and so
// does the command, where Nextflow was given a shell that records.
std::string nextflow_folder(const Variables& v) {
  const std::string hooked = v.all().variable(kHookedTaskVariable), told = v.all().variable("NXF_TASK_WORKDIR");
  if (!hooked.empty()) return hooked;
  if (!v.file_start(told + kWrapper, 1).empty()) return told;
  for (const std::string& word : v.all().command)
    if (word.starts_with('/') && (word.ends_with(kWrapper) || word.ends_with("/.command.sh")))
      return parent_folder(word);
  return told;
}

bool is_nextflow(const Variables& v) { return v.has("NXF_TASK_WORKDIR") || v.has(kHookedTaskVariable); }
void nextflow(const Variables& v, Starter& found) {
  const std::string folder = nextflow_folder(v);
  const std::string script = v.file_start(folder + kWrapper, kScriptStart);
  std::string name = line_after(script, "### name:");
  if (name.empty()) name = line_after(script, "# NEXTFLOW TASK:");
  found.metadata.task_name = stored_value(name);
  found.metadata.job_name = stored_value(name.substr(0, name.find(" (")));
  // 'null' is there where containers are switched on and the process has none.
  if (const std::string image = line_after(script, "### container:"); image != "null")
    found.metadata.container_image = stored_value(image);
  std::string_view path = folder;
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const std::string_view last = last_part(path);
  const std::string_view before =
      path.size() > last.size() ? last_part(path.substr(0, path.size() - last.size() - 1)) : std::string_view{};
  found.metadata.external_run_id =
      stored_value(before.empty() ? std::string(last) : std::string(before) + "/" + std::string(last));
}

bool runs_snakemake(const std::vector<std::string>& words) {
  const auto named = [&](size_t i) { return words.size() > i && last_part(words[i]) == "snakemake"; };
  return named(0) || named(1) || (words.size() > 2 && words[1] == "-m" && words[2] == "snakemake");
}
const std::vector<std::string>* snakemake_above(const Variables& v) {
  const CommandLines& above = v.all().ancestors();
  const auto found = std::find_if(above.begin(), above.end(), runs_snakemake);
  return found == above.end() ? nullptr : &*found;
}
bool is_snakemake(const Variables& v) { return snakemake_above(v) != nullptr; }
void snakemake(const Variables& v, Starter& found) {
  const std::vector<std::string>& words = *snakemake_above(v);
  constexpr std::string_view kJobs = "--target-jobs";
  for (size_t i = 0; i < words.size(); ++i) {
    std::string_view jobs;
    if (words[i] == kJobs && i + 1 < words.size()) jobs = words[i + 1];
    else if (words[i].starts_with(std::string(kJobs) + "=")) jobs = std::string_view(words[i]).substr(kJobs.size() + 1);
    if (const size_t colon = jobs.find(':'); colon != std::string_view::npos)
      found.metadata.task_name = stored_value(jobs.substr(0, colon));
  }
  if (const auto threads = v.number("OMP_NUM_THREADS"); threads && *threads > 0)
    found.started_by.requested.cpus = static_cast<double>(*threads);
}

bool is_airflow(const Variables& v) { return v.has("AIRFLOW_CTX_DAG_ID"); }
void airflow(const Variables& v, Starter& found) {
  found.metadata.job_name = v.text("AIRFLOW_CTX_DAG_ID");
  found.metadata.task_name = v.text("AIRFLOW_CTX_TASK_ID");
  found.metadata.external_run_id = v.text("AIRFLOW_CTX_DAG_RUN_ID");
  found.started_by.job.restart = v.attempt("AIRFLOW_CTX_TRY_NUMBER");
}

bool is_metaflow(const Variables& v) { return v.has("METAFLOW_FLOW_NAME"); }
void metaflow(const Variables& v, Starter& found) {
  found.metadata.job_name = v.text("METAFLOW_FLOW_NAME");
  found.metadata.stage_name = v.text("METAFLOW_STEP_NAME");
  found.metadata.task_name = v.text("METAFLOW_TASK_ID");
  found.metadata.external_run_id = v.text("METAFLOW_RUN_ID");
  found.started_by.job.restart = v.number("METAFLOW_RETRY_COUNT");
}

bool is_flyte(const Variables& v) { return v.has("FLYTE_INTERNAL_EXECUTION_ID"); }
void flyte(const Variables& v, Starter& found) {
  found.metadata.task_name = v.text("FLYTE_INTERNAL_TASK_NAME");
  found.metadata.external_run_id = v.text("FLYTE_INTERNAL_EXECUTION_ID");
  found.metadata.project_name = v.text("FLYTE_INTERNAL_EXECUTION_PROJECT");
  found.metadata.env = v.text("FLYTE_INTERNAL_EXECUTION_DOMAIN");
  found.metadata.container_image = v.text("FLYTE_INTERNAL_IMAGE");
  found.started_by.job.restart = v.number("FLYTE_ATTEMPT_NUMBER");
}

// The member "name" of the outermost object. Argo's own program escapes < and > as \u003c and \u003e.
std::string outer_name(const std::string& text) {
  JsonText json;
  return text.size() <= kTemplateLimit && json.parse(text) ? json.root()["name"].string().value_or("") : "";
}

bool is_argo(const Variables& v) { return v.has("ARGO_NODE_ID") || v.has("ARGO_TEMPLATE"); }
void argo(const Variables& v, Starter& found) {
  found.metadata.stage_name = v.text("ARGO_CONTAINER_NAME");
  found.metadata.task_name = stored_value(outer_name(v.all().variable("ARGO_TEMPLATE")));
  found.metadata.external_run_id = v.first("ARGO_WORKFLOW_NAME", "ARGO_NODE_ID");
}

bool is_github(const Variables& v) { return v.text("GITHUB_ACTIONS") == "true"; }
void github(const Variables& v, Starter& found) {
  found.metadata.job_name = v.text("GITHUB_WORKFLOW");
  found.metadata.stage_name = v.text("GITHUB_JOB");
  found.metadata.task_name = v.text("GITHUB_ACTION");
  found.metadata.external_run_id = v.text("GITHUB_RUN_ID");
  found.metadata.project_name = v.text("GITHUB_REPOSITORY");
  found.metadata.executor = v.text("RUNNER_ENVIRONMENT");
  found.started_by.job.restart = v.attempt("GITHUB_RUN_ATTEMPT");
}

bool is_gitlab(const Variables& v) { return v.text("GITLAB_CI") == "true"; }
void gitlab(const Variables& v, Starter& found) {
  found.metadata.job_name = v.text("CI_JOB_NAME");
  found.metadata.stage_name = v.text("CI_JOB_STAGE");
  found.metadata.external_run_id = v.text("CI_JOB_ID");
  found.metadata.project_name = v.text("CI_PROJECT_PATH");
  found.metadata.container_image = v.text("CI_JOB_IMAGE");
  if (v.has("CI_PIPELINE_ID")) found.metadata.tags.push_back("pipeline=" + v.text("CI_PIPELINE_ID"));
}

bool is_jenkins(const Variables& v) { return v.has("JENKINS_URL") && v.has("BUILD_NUMBER"); }
void jenkins(const Variables& v, Starter& found) {
  found.metadata.job_name = v.text("JOB_NAME");
  found.metadata.stage_name = v.text("STAGE_NAME");
  found.metadata.external_run_id = v.text("BUILD_TAG");
}

struct Orchestrator {
  std::string_view name;
  bool (*is_there)(const Variables&);
  void (*read)(const Variables&, Starter&);
};
constexpr std::array kOrchestrators = {
    Orchestrator{"nextflow", is_nextflow, nextflow},
    Orchestrator{"snakemake", is_snakemake, snakemake},
    Orchestrator{"airflow", is_airflow, airflow},
    Orchestrator{"metaflow", is_metaflow, metaflow},
    Orchestrator{"flyte", is_flyte, flyte},
    Orchestrator{"argo", is_argo, argo},
    Orchestrator{"github_actions", is_github, github},
    Orchestrator{"gitlab_ci", is_gitlab, gitlab},
    Orchestrator{"jenkins", is_jenkins, jenkins},
};

}  // namespace

std::optional<Starter> find_orchestrator(const Variables& variables) {
  for (const Orchestrator& orchestrator : kOrchestrators) {
    if (!orchestrator.is_there(variables)) continue;
    Starter found;
    found.started_by.orchestrator = found.metadata.orchestrator = orchestrator.name;
    orchestrator.read(variables, found);
    if (found.started_by.requested.known()) found.started_by.requested.source = orchestrator.name;
    return found;
  }
  return std::nullopt;
}

}  // namespace tacho
