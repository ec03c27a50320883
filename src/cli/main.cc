// tacho's table of contents.
#include <array>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "os/standard_streams.h"
#include "probe/gpu/gpu_reader.h"

namespace {

using namespace tacho;

constexpr auto kCommands = std::to_array<Command>({
    {"run", kRun, "[OPTIONS] [--] CMD [ARGS...]", "Start CMD, record it, end with its status.", run_command},
    {"attach", kAttach, "[OPTIONS] --pid PID | --cgroup PATH", "Record something that already runs, until it ends.",
     attach_command},
    {"watch", kWatch, "[OPTIONS]", "Record the whole machine until a signal.", watch_command},
    {"stop", kStop, "RUN", "End the recording of a run; what it records goes on.", stop_command},
    {"runs", kRuns, "[--job NAME] [--since D] [--failed] [--limit N] [--json]",
     "List the runs recorded here, newest first.", runs_command},
    {"show", kShow, "RUN [--json|--path]", "Print one run's summary; RUN is an id, a part of it, a job name, or last.",
     show_command},
    {"report", kReport, "RUN|FILE... [-o report.html]", "Write one self-contained HTML page.", report_command},
    {"compare", kCompare, "A B... [--fail-if CONDITION] [--json|--markdown]",
     "Put runs or metrics files side by side, and show how they differ.", compare_command},
    {"advise", kAdvise, "RUN...|--job NAME [--for WHERE] [--prices FILE] [--servers] [--json]",
     "What size the job needs, by what its runs used.", advise_command},
    {"note", kNote, "RUN TEXT", "Add a note to a run; tacho show prints it.", note_command},
    {"rm", kRm, "RUN...", "Remove runs from the store.", rm_command},
    {"prune", kPrune, "[--older D] [--keep N] [--job NAME] [--dry-run] [--yes]",
     "Remove the runs that fulfil every rule given.", prune_command},
    {"why", kWhy, "RUN|FILE [--json]", "What limited a run: what it waited for, with the numbers, and what to change.",
     why_command},
    {"top", kTop, "[RUN|--pid PID] [--once] [--json]", "Live view of a run, a process or the machine.", top_command},
    {"mark", kMark, "NAME | --end | --point NAME", "Inside a job of tacho run: name the phase that begins now.",
     mark_command},
    {"export", kExport, "RUN... -f FORMAT [-o FILE]",
     "Write runs in the form of other tools: traces, benchmarks, metrics.", export_command},
    {"query", kQuery, "'SQL'|- [--csv|--json|--jsonl] [--schema] [--no-cache]",
     "SQL over all runs recorded here; --schema prints the tables.", query_command},
    {"hook", kOther, "nextflow|snakemake", "Print shell code that makes a workflow engine record its tasks; eval it.",
     hook_command},
    {"list", kList, "metrics|probes|sinks [--json]", "What can be measured and where it can go.", list_command},
    {"config", kConfig, "[-c FILE] [--json]", "Print every setting of a recording, and where it comes from.",
     config_command},
    {"doctor", kDoctor, "[--cost] [--json] [--no-store]",
     "What works on this machine, what does not, why, and the fix.", doctor_command},
    {"discover", kNoSubcommand, "[--json]", "Print what is known of the host and its cloud.", sibling_command},
    {"deliver", kNoSubcommand, "[RUN|DIR|--all]", "Send what a killed run or a dead network left behind.",
     sibling_command},
    {"monitor", kMonitor, "[OPTIONS]", "The Cromwell task monitor, configured by its environment.", monitor_command},
    {"cromwell", kNoSubcommand, "upload|serve|import|analyze ...",
     "Send workflow metadata to BigQuery; find out what tasks need.", sibling_command},
    {"bq", kNoSubcommand, "init|columns", "Make the BigQuery dataset and tables ahead of time.", sibling_command},
    {"help", kOther, "[COMMAND]", "Print help.", help_command},
    {"version", kVersion, "[--json]", "Print the version.", version_command},
    {"docs", kOther, "metrics|man|completion-bash|completion-zsh|completion-fish", "Print generated documents.",
     docs_command, true},
});

}  // namespace

int main(int argc, char** argv) {
  prepare_standard_streams();
  if (const auto status = serve_as_gpu_reader(argc, argv)) return *status;
  const std::vector<std::string> words(argv, argv + argc);
  const std::span<const std::string> arguments(words);
  return dispatch(kCommands, words.empty() ? "tacho" : words[0], arguments.subspan(words.empty() ? 0 : 1));
}
