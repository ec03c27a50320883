#include <malloc.h>

#include <cstdio>

#include "base/log.h"
#include "cromwell/commands.h"
#include "cromwell/options.h"

namespace tacho {
namespace {

constexpr const char kCromwellHelp[] =
    "Examples:\n"
    "  tacho cromwell upload 5d96fd3c-1a89-40ae-8095-c364181cda46\n"
    "  tacho cromwell import --ndjson rows.ndjson logs/wf/*/call-*/monitoring.log\n\n"
    "Usage:\n"
    "tacho cromwell upload [ID...]       a workflow's metadata into BigQuery, one row a call attempt\n"
    "tacho cromwell serve                the same as a service that takes storage events and Cromwell's callbacks\n"
    "tacho cromwell import LOG...        old monitoring.log files into BigQuery\n"
    "tacho cromwell analyze              what tasks asked for, what they used, and what to ask for by input size\n\n"
    "Each of them has --help.\n";

}  // namespace

int cromwell_command(std::span<const std::string> arguments) {
  // Batches come and go on several threads: large blocks go back to the system at once, and the threads share their
  // heap.
  ::mallopt(M_MMAP_THRESHOLD, 256 * 1024);
  ::mallopt(M_ARENA_MAX, 1);
  const std::string word = arguments.empty() ? "" : arguments[0];
  const auto rest = arguments.subspan(arguments.empty() ? 0 : 1);
  if (word == "upload") return upload_command(rest);
  if (word == "serve") return serve_command(rest);
  if (word == "import") return import_command(rest);
  if (word == "analyze") return analyze_command(rest);
  if (word == "--help" || word == "-h" || word == "help") return std::fputs(kCromwellHelp, stdout) < 0 ? 1 : 0;
  log::error((word.empty() ? "say what to do" : "unknown command cromwell " + word) +
             ": upload, serve, import or analyze (see tacho cromwell --help)");
  return kBadUsage;
}

}  // namespace tacho
