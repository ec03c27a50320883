// tacho-deliver: all that speaks HTTP, as a program of its own beside tacho.
#include <sys/resource.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "base/exit_status.h"
#include "base/log.h"
#include "cloud/discover_command.h"
#include "cloud/servers_command.h"
#include "cromwell/bq_command.h"
#include "cromwell/commands.h"
#include "deliver/beside.h"
#include "deliver/recovery.h"
#include "os/standard_streams.h"
#include "probe/gpu/gpu_reader.h"
#include "spool/contract.h"

namespace {

using namespace tacho;

const char kHelp[] =
    "tacho-deliver is run by tacho; these are its commands:\n"
    "  tacho deliver [RUN|DIR...|--all]   send what a killed run or a dead network left behind\n"
    "  tacho discover [--json]            print what is known of the host and its cloud\n"
    "  tacho advise RUN --servers         the cheapest servers that are large enough\n"
    "  tacho bq init                      make the BigQuery dataset and tables\n"
    "  tacho cromwell upload|serve|import|analyze\n"
    "                         Cromwell's metadata and logs into BigQuery, and what tasks need\n";

int run_beside(std::span<const std::string> words) {
  std::vector<std::string> folders;
  for (size_t i = 0; i + 1 < words.size() && words[i] == kSpoolRunFlag; i += 2) folders.push_back(words[i + 1]);
  if (folders.size() * 2 != words.size())
    return log::error("--spool-run is for tacho itself; see tacho deliver --help"), kRefused;
  return deliver_beside(folders, kControlDescriptor);
}

}  // namespace

int main(int argc, char** argv) {
  prepare_standard_streams();
  if (const auto status = serve_as_gpu_reader(argc, argv)) return *status;
  // A token and keys are in memory: no dump of it.
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  // A limit that the job's shell set on file sizes (ulimit -f) is an error that is told, and the rows stay; not a
  // sudden end.
  ::signal(SIGXFSZ, SIG_IGN);
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  const std::span<const std::string> rest = std::span(words).subspan(words.empty() ? 0 : 1);
  const std::string command = words.empty() ? "--help" : words[0];
  if (command == kSpoolRunFlag) return run_beside(words);
  if (command == "deliver") return deliver_command(rest);
  if (command == "discover") return discover_command(rest);
  if (command == "bq") return bq_command(rest);
  if (command == kServersCommand) return servers_command(rest);
  if (command == "--version" || command == "-V") return std::puts("tacho-deliver " TACHO_VERSION) < 0 ? 1 : 0;
  if (command == "--help" || command == "-h") return std::fputs(kHelp, stdout) < 0 ? 1 : 0;
  if (command == "cromwell") return cromwell_command(rest);
  return log::error("unknown command " + command + "; see tacho --help"), kRefused;
}
