#include "cli/options.h"

#include <array>

#include "base/text.h"

namespace tacho {
namespace {

using enum Kind;
using enum Group;

constexpr bool kOnce = false, kRepeated = true;

// Name, short, value, kind, repeated, TACHO_ and TRACKER_ variable, key, default, who takes it, group, help.
constexpr auto kOptions = std::to_array<Option>({
    {"interval", 'i', "D", duration, kOnce, "TACHO_INTERVAL", "TRACKER_INTERVAL", "interval", "1s", kRecord | kTop,
     recording, "Take a sample every D, from 10ms to 1h: 0.25 (seconds), 250ms, 5m."},
    {"probe", 0, "NAME", comma_list, kRepeated, "", "", "probe", "", kRecord, recording,
     "Turn a probe on; see tacho list probes."},
    {"no-probe", 0, "NAME", comma_list, kRepeated, "", "", "no_probe", "", kRecord, recording, "Turn a probe off."},
    {"pss", 0, "auto|always|never", word, kOnce, "", "", "pss", "auto", kRecord, recording,
     "Read proportional memory: auto keeps it inside a time budget and says when it fell back to RSS."},
    {"method", 0, "auto|cgroup|tree", word, kOnce, "TACHO_METHOD", "", "method", "auto", kRecord, recording,
     "Sum the job's CPU time by a cgroup of its own or over its process tree."},
    {"carbon-intensity", 0, "G", text, kOnce, "TACHO_CARBON_INTENSITY", "", "carbon_intensity", "", kRecord, recording,
     "Grams of CO2 per kWh where the machine stands; run.json then has the emissions of the measured energy."},
    {"processes", 0, "N|off", word, kOnce, "TACHO_PROCESSES", "", "processes", "10000", kRecord, recording,
     "At most N lines in processes.csv, which tells who used what; further processes are merged by name."},
    {"no-devices", 0, "", flag, kOnce, "", "", "no_devices", "", kRecord, recording,
     "Leave out devices.csv, which has each core, disk, interface and GPU by itself."},

    {"output", 'o', "DEST", list, kRepeated, "TACHO_OUTPUT", "TRACKER_OUTPUT", "output", "", kRecord, output,
     "Also write the samples to DEST (repeatable): .csv, .csv.gz, .jsonl, .html or a URI; - is stdout."},
    {"output", 'o', "FILE", text, kOnce, "", "", "", "report.html", kReport, output, "Write the report to FILE."},
    {"title", 0, "TEXT", text, kOnce, "", "", "", "the job's name", kReport, output, "Title of the page."},
    {"max-points", 0, "N", integer, kOnce, "", "", "", "2000", kReport, output,
     "At most N points a line, 2 to 20000; where there are more rows, a point shows the mean, lowest and highest of "
     "several."},
    {"output", 'o', "FILE", text, kOnce, "", "", "", "stdout", kExport, output, "Write to FILE; - is stdout."},
    {"format", 'f', "csv|jsonl|nextflow|nextflow-tsv|snakemake|snakemake-jsonl|prom|openmetrics|jobstats|markdown",
     word, kOnce, "", "", "", "", kExport, output, "What to write."},
    {"format", 'f', "csv|json", word, kOnce, "", "", "format", "by extension", kRecord, output,
     "Format of an output without a known extension."},
    {"store", 0, "DIR", text, kOnce, "TACHO_STORE", "", "store", "$XDG_STATE_HOME/tacho/runs", kRecord | kStored,
     output, "Folder of the run store; every run leaves run.json and metrics.csv there."},
    {"no-store", 0, "", flag, kOnce, "", "", "no_store", "", kRecord | kDoctor, output,
     "Leave nothing in the run store."},
    {"summary", 0, "none|line|full|json", word, kOnce, "", "", "summary", "line", kRecord, output,
     "What is printed on stderr at the end."},
    {"quiet", 'q', "", flag, kOnce, "TACHO_QUIET", "TRACKER_QUIET", "quiet", "", kRecord | kMonitor, output,
     "No summary and no progress."},
    {"progress", 0, "auto|never|D", word, kOnce, "", "", "progress", "auto", kRecord, output,
     "A progress line every D; auto: every 10s for attach and watch on a terminal."},
    {"strict", 0, "", flag, kOnce, "", "", "strict", "", kRecord | kMonitor, output,
     "A delivery failure also fails the run: exit 125 when the job itself succeeded."},
    {"deliver", 0, "beside|later", word, kOnce, "TACHO_DELIVER", "", "deliver", "beside", kRun | kAttach | kWatch,
     output, "When remote outputs are sent: beside the run, or later by tacho deliver, so that no run waits for them."},
    {"upload-interval", 0, "D", duration, kOnce, "TACHO_UPLOAD_INTERVAL", "TRACKER_UPLOAD_INTERVAL", "upload_interval",
     "60s", kRecord, output, "Send a batch to a remote output every D, at least 1s."},
    {"data-source-local-name", 0, "inline|local", word, kOnce, "TACHO_DATA_SOURCE_LOCAL_NAME", "",
     "data_source_local_name", "inline", kRecord, output,
     "What the service calls the rows of a short run, which come with its finish call."},
    {"json", 0, "", flag, kOnce, "", "", "", "",
     kRuns | kShow | kList | kDoctor | kCompare | kAdvise | kTop | kPrune | kConfig | kVersion | kWhy, output,
     "Print JSON."},
    {"csv", 0, "", flag, kOnce, "", "", "", "", kQuery, output, "Print CSV; NULL is an empty field."},
    {"json", 0, "", flag, kOnce, "", "", "", "", kQuery, output, "Print a JSON array of objects."},
    {"jsonl", 0, "", flag, kOnce, "", "", "", "", kQuery, output, "Print a JSON object a line."},
    {"schema", 0, "", flag, kOnce, "", "", "", "", kQuery, output, "Print the tables and their columns."},
    {"no-cache", 0, "", flag, kOnce, "", "", "", "", kQuery, output, "Read every run anew, and keep nothing."},
    {"markdown", 0, "", flag, kOnce, "", "", "", "", kCompare, output,
     "Print a table in Markdown, with a hidden first line by which a script finds its comment again."},
    {"fail-if", 0, "CONDITION", list, kRepeated, "", "", "", "", kCompare, output,
     "Exit 3 if CONDITION holds for any run after the first (repeatable): 'memory_peak > +10%', 'time > 30s'. It "
     "begins with the name of a row of --json, or with COLUMN.mean, COLUMN.max or COLUMN.sum."},
    {"job", 0, "NAME", text, kOnce, "", "", "", "", kRuns | kPrune | kAdvise, output, "Only runs of this job name."},
    {"since", 0, "D", duration, kOnce, "", "", "", "", kRuns, output, "Only runs that started within D: 90m, 12h, 7d."},
    {"failed", 0, "", flag, kOnce, "", "", "", "", kRuns, output, "Only runs that did not end well."},
    {"limit", 0, "N", integer, kOnce, "", "", "", "all", kRuns, output, "At most N runs."},
    {"job-id", 0, "ID", text, kOnce, "", "", "", "", kRuns, output,
     "Only runs of the scheduler's job ID: a job or a whole array (4711), or one task of it (4711_3)."},
    {"flat", 0, "", flag, kOnce, "", "", "", "", kRuns, output,
     "A line for each run, even if several runs belong to one job of a scheduler."},
    {"path", 0, "", flag, kOnce, "", "", "", "", kShow, output, "Print the run's folder and nothing else."},
    {"open", 0, "", flag, kOnce, "", "", "", "", kReport, output,
     "Show the page in a browser (xdg-open, or $BROWSER)."},
    {"older", 0, "D", duration, kOnce, "", "", "", "", kPrune, output,
     "Runs that ended more than D ago: 90m, 12h, 30d."},
    {"keep", 0, "N", integer, kOnce, "", "", "", "", kPrune, output,
     "All runs but the N newest (of the job, with --job)."},
    {"dry-run", 0, "", flag, kOnce, "", "", "", "", kPrune, output, "Say what would be removed and remove nothing."},
    {"yes", 'y', "", flag, kOnce, "", "", "", "", kPrune, output, "Do not ask."},
    {"for", 0, "slurm|kubernetes|nextflow|snakemake|wdl|docker", word, kOnce, "", "", "", "", kAdvise, output,
     "Print the lines to paste there."},
    {"prices", 0, "FILE", text, kOnce, "", "", "", "", kAdvise, output,
     "Also the five cheapest servers of a price list (CSV) that are large enough, and what the run costs there."},

    {"cost", 0, "", flag, kOnce, "", "", "", "", kDoctor, output,
     "Instead of the checks, measure what each probe costs at every sample."},
    {"once", 0, "", flag, kOnce, "", "", "", "", kTop, output, "Print one picture without control codes, and end."},
    {"live", 0, "", flag, kOnce, "", "", "live", "", kRun, output,
     "Show the view of tacho top below the job's output, if stderr is a terminal."},
    {"servers", 0, "", flag, kOnce, "", "", "", "", kAdvise, output,
     "Also ask the price list of Spare Cores for the cheapest servers of that size; only the size is sent."},
    {"vendor", 0, "ID", text, kOnce, "", "", "", "any", kAdvise, output,
     "With --servers: of this vendor only, such as aws or gcp."},
    {"region", 0, "NAME", text, kOnce, "", "", "", "any", kAdvise, output,
     "With --servers and --vendor: prices of this region."},
    {"architecture", 0, "NAME", text, kOnce, "", "", "", "any", kAdvise, output,
     "With --servers: of this architecture only, such as x86_64 or arm64."},

    {"end", 0, "", flag, kOnce, "", "", "", "", kMark, recording, "End the current phase."},
    {"point", 0, "", flag, kOnce, "", "", "", "", kMark, recording, "NAME is a moment, not a phase."},

    {"hide", 0, "FIELD,...", comma_list, kRepeated, "TACHO_HIDE", "", "hide", "", kRecord, privacy,
     "Fields that are neither written nor sent: host_ip, host_name, command; or a group: host, cloud, private. "
     "Names from all sources add up."},
    {"no-cloud", 0, "", flag, kOnce, "TACHO_NO_CLOUD", "", "no_cloud", "", kRecord | kMonitor, privacy,
     "Never ask a cloud metadata server."},

    {"job-name", 'n', "TEXT", text, kOnce, "TACHO_JOB_NAME", "TRACKER_JOB_NAME", "job_name", "", kRecord, metadata,
     "Name of the job."},
    {"project-name", 0, "TEXT", text, kOnce, "TACHO_PROJECT_NAME", "TRACKER_PROJECT_NAME", "project_name", "", kRecord,
     metadata, "Project it belongs to."},
    {"stage-name", 0, "TEXT", text, kOnce, "TACHO_STAGE_NAME", "TRACKER_STAGE_NAME", "stage_name", "", kRecord,
     metadata, "Stage of a pipeline."},
    {"task-name", 0, "TEXT", text, kOnce, "TACHO_TASK_NAME", "TRACKER_TASK_NAME", "task_name", "", kRecord, metadata,
     "Task within the stage."},
    {"team", 0, "TEXT", text, kOnce, "TACHO_TEAM", "TRACKER_TEAM", "team", "", kRecord, metadata, "Team that owns it."},
    {"env", 0, "TEXT", text, kOnce, "TACHO_ENV", "TRACKER_ENV", "env", "", kRecord, metadata,
     "Environment, such as dev or prod."},
    {"language", 0, "TEXT", text, kOnce, "TACHO_LANGUAGE", "TRACKER_LANGUAGE", "language", "", kRecord, metadata,
     "Programming language."},
    {"orchestrator", 0, "TEXT", text, kOnce, "TACHO_ORCHESTRATOR", "TRACKER_ORCHESTRATOR", "orchestrator", "", kRecord,
     metadata, "What scheduled it, such as airflow."},
    {"executor", 0, "TEXT", text, kOnce, "TACHO_EXECUTOR", "TRACKER_EXECUTOR", "executor", "", kRecord, metadata,
     "What ran it, such as slurm or kubernetes."},
    {"external-run-id", 0, "TEXT", text, kOnce, "TACHO_EXTERNAL_RUN_ID", "TRACKER_EXTERNAL_RUN_ID", "external_run_id",
     "", kRecord, metadata, "Id of this run elsewhere."},
    {"container-image", 0, "TEXT", text, kOnce, "TACHO_CONTAINER_IMAGE", "TRACKER_CONTAINER_IMAGE", "container_image",
     "", kRecord, metadata, "Image it runs in."},
    {"tag", 0, "KEY=VALUE", comma_list, kRepeated, "TACHO_TAGS", "", "tags", "", kRecord, metadata,
     "Any other label (repeatable); TACHO_TAGS takes several, separated by commas."},
    {"request", 0, "SIZE", text, kOnce, "TACHO_REQUEST", "", "request", "by the scheduler", kRun | kAttach | kWatch,
     metadata,
     "What the job asked for, as tacho advise compares it: cpus=4,memory=8GiB,gpus=1,time=2h, or some of these."},
    {"metric-label", 0, "NAME=VALUE", comma_list, kRepeated, "TACHO_METRIC_LABELS", "", "metric_labels", "",
     kRun | kAttach | kWatch | kExport, metadata,
     "Add a label to every series of metrics outputs (repeatable, at most 10); {run_id} stands for the run's id."},
    {"no-detect", 0, "", flag, kOnce, "TACHO_NO_DETECT", "", "no_detect", "", kRun | kAttach | kWatch, metadata,
     "Do not look at the surroundings for the workflow engine or scheduler that started the job."},

    {"pid", 'p', "PID", integer, kOnce, "", "", "pid", "", kRun | kAttach | kTracker | kTop, job_control,
     "The process PID and its descendants, until it ends."},
    {"cgroup", 0, "PATH", text, kOnce, "", "", "", "", kAttach, job_control,
     "Record the processes of a cgroup, until it is empty."},
    {"no-children", 0, "", flag, kOnce, "", "", "", "", kAttach, job_control,
     "Record the process PID alone, without the processes that it starts."},
    {"detach", 0, "", flag, kOnce, "", "", "", "", kAttach | kWatch, job_control,
     "Go on in the background: print one line of JSON (not with -q) once recording has begun, and end. tacho stop ends "
     "it."},
    {"begun-fd", 0, "N", integer, kOnce, "", "", "", "", kRun, job_control,
     "For a program that starts tacho: write one line of JSON to descriptor N, once the command runs or cannot be "
     "run."},
    {"nested", 0, "record|pass", word, kOnce, "TACHO_NESTED", "", "nested", "record", kRun, job_control,
     "What a run inside another run does. record: it records, too. pass: if the outer run has pass as well, it "
     "becomes the command and records nothing."},
    {"fail-open", 0, "", flag, kOnce, "TACHO_FAIL_OPEN", "", "fail_open", "", kRun, job_control,
     "If tacho cannot record, for whatever reason, say so in one line and become the command."},
    {"timeout", 0, "D", duration, kOnce, "", "", "timeout", "", kRecord, job_control,
     "End the job after D: TERM, then KILL after --kill-after; exit 124. attach and watch end the recording only."},
    {"kill-after", 0, "D", duration, kOnce, "", "", "kill_after", "10s", kRecord, job_control,
     "How long a job that was told to end may take."},

    {"measure-interval-ms", 0, "N", integer, kOnce, "MEASURE_INTERVAL_MS", "", "", "1000", kMonitor, recording,
     "Take a sample every N milliseconds."},
    {"report-interval-ms", 0, "N", integer, kOnce, "REPORT_INTERVAL_MS", "", "", "2s, then 10s or 60s", kMonitor,
     recording, "Send rows every N milliseconds."},
    {"disk-mounts", 0, "LIST", text, kOnce, "DISK_MOUNTS", "", "", "/cromwell_root", kMonitor, recording,
     "Mount points of the task's disks, separated by blanks."},
    {"remote-mounts", 0, "", flag, kOnce, "", "", "", "", kMonitor, recording,
     "Also take in FUSE and network file systems."},
    {"form", 0, "image|script|local", word, kOnce, "TACHO_MONITOR_FORM", "", "", "as found", kMonitor, recording,
     "How tacho is started: beside the task, by its script, or by a person."},
    {"output", 'o', "FILE", text, kOnce, "", "", "", "", kMonitor, output,
     "Also write the rows to FILE as JSON lines; - is stdout."},
    {"spool-dir", 0, "DIR", text, kOnce, "TACHO_SPOOL_DIR", "", "", "the working mount, then $TMPDIR", kMonitor, output,
     "Folder where rows wait until they are delivered."},

    {"workflow-id", 0, "TEXT", text, kOnce, "WORKFLOW_ID", "", "", "", kMonitor, task, "Id of the workflow."},
    {"task-call-name", 0, "TEXT", text, kOnce, "TASK_CALL_NAME", "", "", "", kMonitor, task, "Name of the call."},
    {"task-call-index", 0, "N", word, kOnce, "TASK_CALL_INDEX", "", "", "", kMonitor, task,
     "Shard of the call; NA: none."},
    {"task-call-attempt", 0, "N", integer, kOnce, "TASK_CALL_ATTEMPT", "", "", "", kMonitor, task,
     "Attempt of the call."},
    {"instance-id", 0, "N", integer, kOnce, "INSTANCE_ID", "", "", "by the metadata server", kMonitor, task,
     "Number of the machine."},
    {"instance-name", 0, "TEXT", text, kOnce, "INSTANCE_NAME", "", "", "by the metadata server", kMonitor, task,
     "Name of the machine."},
    {"zone", 0, "TEXT", text, kOnce, "ZONE", "", "", "by the metadata server", kMonitor, task, "Zone of the machine."},
    {"preemptible", 0, "true|false", word, kOnce, "PREEMPTIBLE", "", "", "by the metadata server", kMonitor, task,
     "Whether the machine may be taken away."},
    {"cpu-platform", 0, "TEXT", text, kOnce, "CPU_PLATFORM", "", "", "by the metadata server", kMonitor, task,
     "Processor family of the machine."},

    {"project", 0, "ID", text, kOnce, "PROJECT_ID", "", "", "by the metadata server", kMonitor, bigquery,
     "Project that owns the dataset."},
    {"dataset", 0, "NAME", text, kOnce, "DATASET_ID", "", "", "", kMonitor, bigquery,
     "Dataset; without one nothing is sent."},
    {"metrics-table", 0, "NAME", text, kOnce, "METRICS_TABLE_ID", "", "", "metrics", kMonitor, bigquery,
     "Table of the samples."},
    {"runtime-table", 0, "NAME", text, kOnce, "RUNTIME_TABLE_ID", "", "", "runtime", kMonitor, bigquery,
     "Table of the starts."},
    {"bq-endpoint", 0, "URL", text, kOnce, "BIGQUERY_EMULATOR_HOST", "", "", "", kMonitor, bigquery,
     "Another place than Google's, such as an emulator."},
    {"bq-location", 0, "NAME", text, kOnce, "", "", "", "", kMonitor, bigquery, "Where a missing dataset is made."},
    {"bq-create", 0, "auto|never", word, kOnce, "", "", "", "auto", kMonitor, bigquery,
     "Whether a missing dataset or table is made."},
    {"bq-add-columns", 0, "", flag, kOnce, "", "", "", "", kMonitor, bigquery,
     "Add tacho's own columns to a table that is there already."},
    {"access-token-file", 0, "FILE", text, kOnce, "", "", "", "", kMonitor, bigquery,
     "File that holds an access token."},
    {"credentials", 0, "FILE", text, kOnce, "", "", "", "", kMonitor, bigquery,
     "Key of a service account, or of a user, as Google writes it."},
    {"token-uri", 0, "URL", text, kOnce, "", "", "", "", kMonitor, bigquery,
     "Where a token is asked for, instead of the key's own."},
    {"metadata-host", 0, "HOST", text, kOnce, "GCE_METADATA_HOST", "", "", "169.254.169.254", kMonitor, bigquery,
     "Metadata server, as host or host:port."},

    {"config", 'c', "FILE", text, kOnce, "TACHO_CONFIG", "", "", "./tacho.toml, then XDG, then /etc", kRecord | kStored,
     general, "Read settings from FILE; keys are the long option names."},
    {"color", 0, "auto|always|never", word, kOnce, "NO_COLOR", "CLICOLOR_FORCE", "color", "auto",
     kRecord | kStored | kList, general, "Colour in what tacho prints."},
    {"verbose", 'v', "", flag, kOnce, "", "", "verbose", "", kRecord | kStored | kMonitor, general,
     "Say more: what is not available, and why."},
    {"help", 'h', "", flag, kOnce, "", "", "", "", kEvery, general, "Print this help."},
    {"version", 'V', "", flag, kOnce, "", "", "", "", kEvery, general, "Print the version."},
});

}  // namespace

std::string_view group_title(Group group) {
  constexpr std::array<std::string_view, 8> kTitles{"Recording",   "Output",           "Privacy",  "Metadata",
                                                    "Job control", "Task and machine", "BigQuery", "General"};
  return kTitles[static_cast<size_t>(group)];
}

std::span<const Option> all_options() { return kOptions; }

const Option* find_option(std::string_view name, unsigned subcommands) {
  for (const Option& option : kOptions)
    if (option.name == name && (option.subcommands & subcommands) != 0) return &option;
  return nullptr;
}

std::vector<std::string_view> choices(const Option& option) {
  if (option.metavar.find('|') == std::string_view::npos) return {};
  std::vector<std::string_view> words = split(option.metavar, '|');
  std::erase(words, "D");  // "auto|never|D": a duration is no word
  std::erase(words, "N");  // nor is a number
  return words;
}

std::string option_label(const Option& option) {
  std::string label = option.short_name != 0 ? std::string{'-', option.short_name, ',', ' '} : "    ";
  label += "--";
  label += option.name;
  if (!option.metavar.empty()) (label += ' ') += option.metavar;
  return label;
}

}  // namespace tacho
