#include "katib/collect/collect_command.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/log.h"
#include "katib/collect/collector.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/sibling.h"
#include "os/signals.h"

namespace tacho {
namespace {

constexpr int kUsageExit = 2;

std::string variable(std::string_view name) {
  if (const auto value = environment_raw(std::string(name).c_str())) return *value;
  // A container's runtime sets it, but an image may start without.
  std::array<char, 256> host{};
  return name == "HOSTNAME" && ::gethostname(host.data(), host.size() - 1) == 0 ? host.data() : "";
}

// Where the webhook mounts the launcher.
std::string launcher_folder() {
  const std::string folder = variable("TACHO_LAUNCHER_DIR");
  return folder.empty() ? "/tacho" : folder;
}

// The start-up probe of a native sidecar. Without a launcher, the collector itself says when its watch is up.
int ready() {
  if (const std::string file = variable("TACHO_READY_FILE"); !file.empty()) {
    if (file_exists(file)) return 0;
    std::fprintf(stderr, "tacho: the collector does not watch yet: %s\n", file.c_str());
    return 1;
  }
  if (::access((launcher_folder() + "/exec").c_str(), X_OK) == 0) return 0;
  std::fprintf(stderr, "tacho: the launcher is not in place yet: %s/exec\n", launcher_folder().c_str());
  return 1;
}

// gRPC polls idle connections every five seconds unless told otherwise. What it would log, the collector says itself.
void let_grpc_rest() {
  ::setenv("GRPC_CLIENT_CHANNEL_BACKUP_POLL_INTERVAL_MS", "0", 1);
  ::setenv("GRPC_VERBOSITY", "NONE", 0);
}

// A chunk of rows is made and let go again and again: given back to the kernel each time, its pages cost more than the
// rows. What rests is given back at the end of a report (os/memory.h).
void keep_freed_memory() {
  ::mallopt(M_TRIM_THRESHOLD, 16 << 20);
  ::mallopt(M_MMAP_THRESHOLD, 4 << 20);  // otherwise fixed at 128 KiB by the line above
}

}  // namespace

std::string collect_help() {
  std::string out =
      "Examples:\n"
      "  tacho-katib collect -t TRIAL -m 'accuracy;loss' -o-type maximize -s-db katib-db-manager.kubeflow:6789 \\\n"
      "      -path /var/log/katib/metrics.log -format TEXT\n"
      "  tacho-katib collect -t TRIAL -m accuracy -s-db HOST:6789 -path /var/log/katib/tfevent\n"
      "  tacho-katib collect -t TRIAL -m 'val_loss{run=\"a\"}' -s-db HOST:6789 --http-port 9090 --resources\n"
      "\nUsage: tacho-katib collect -t TRIAL -m NAMES -s-db HOST:PORT [FLAGS]\n"
      "Collects the metrics of one trial beside its trainer and reports them to the DB manager.\n"
      "Every flag may be written -x v, -x=v, --x v or --x=v; durations as in Go (300ms, 1.5h).\n";
  std::string_view group;
  for (const std::string_view wanted : {"What to read", "Where to report", "How to report", "The trainer's processes",
                                        "Scraping (PrometheusMetric)", "Security"}) {
    for (const CollectFlag& flag : collect_flags()) {
      if (flag.group != wanted) continue;
      if (group != wanted) out.append("\n").append(group = wanted).append(":\n");
      std::string left("  -");
      left.append(flag.name).append(" ").append(flag.value);
      if (!flag.alias.empty() && flag.alias != flag.name) left.append(", --").append(flag.alias);
      if (left.size() < 38) left.resize(38, ' ');
      else left.append("\n").append(38, ' ');
      out.append(left).append(flag.help).append("\n");
    }
  }
  return out;
}

void tell_cause(std::string_view cause, const std::string& termination_log) {
  log::error(cause);
  // Kubernetes makes the file; elsewhere there is none.
  const Fd file(::open(termination_log.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (!file) return;
  if (const Status status = write_all(file.get(), std::string("tacho: ").append(cause).append("\n")); !status)
    log::debug(status.error().message());
}

Status install_launcher(const std::string& program, const std::string& folder) {
  const auto text = read_whole_file(program, 16u << 20);
  if (!text) return text.error();
  const std::string path = folder + "/exec";
  if (const Status status = write_file_atomically(path, *text, false, 0755); !status) return status;
  return ::chmod(path.c_str(), 0755) == 0 ? ok()
                                          : Status(system_error("cannot make the launcher executable", path, errno));
}

int collect_command(std::span<const std::string> arguments, CalledAs called_as) {
  const auto refuse = [](const Error& error) {
    std::fputs(collect_help().c_str(), stderr);
    tell_cause(error.message());
    return kUsageExit;
  };
  auto options = parse_collect_options(arguments, called_as, variable);
  if (!options) return refuse(options.error());
  if (options->help) return std::fputs(collect_help().c_str(), stdout) < 0 ? 1 : 0;
  if (options->ready) return ready();
  if (options->reads(CollectorKind::Source::trainer)) {
    std::puts("tacho: the trainer reports by itself (kind Push or None); there is nothing to collect");
    return 0;
  }
  let_grpc_rest();
  keep_freed_memory();
  ignore_broken_pipes();
  auto collector = Collector::create(std::move(*options));
  if (!collector && collector.error().code != Code::invalid) {
    tell_cause(collector.error().message());
    return kFatalExit;
  }
  if (!collector) return refuse(collector.error());
  if (variable("TACHO_SIDECAR") == "native" && ::access(launcher_folder().c_str(), W_OK) == 0) {
    const Status status = install_launcher(sibling_path(kLauncherName), launcher_folder());
    if (!status) log::warn(status.error());
  }
  // Readers and their watch were made with the collector.
  if (const std::string file = variable("TACHO_READY_FILE"); !file.empty()) {
    if (const Status status = write_file_atomically(file, "", false, 0644); !status) log::warn(status.error());
  }
  const CollectEnd end = (*collector)->run();
  if (end.code != 0) tell_cause(end.cause);
  // Threads may still be inside a call; nothing that they use may be taken down under them.
  std::fflush(nullptr);
  ::_exit(end.code);
}

}  // namespace tacho
