// tacho-katib's table of contents. The collector and its store are in this program; what speaks to Kubernetes and the
// launcher are programs beside it.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/path.h"
#include "katib/collect/collect_command.h"
#include "katib/db/commands.h"
#include "os/sibling.h"
#include "os/standard_streams.h"
#include "probe/gpu/gpu_reader.h"

namespace {

using Arguments = std::span<const std::string>;

int help() {
  std::puts(
      "Examples:\n"
      "  tacho-katib db --store trials.sqlite                 a DB manager on this machine\n"
      "  tacho-katib collect -t TRIAL -m accuracy -s-db 127.0.0.1:6789 -path metrics.log -format TEXT\n"
      "  tacho-katib log TRIAL                                what is stored of a trial\n"
      "\nCommands (each has --help):\n"
      "  collect   the metrics collector of a trial\n"
      "  db        the DB manager's service on SQLite or PostgreSQL\n"
      "  log       print the rows of a trial\n"
      "  inject    the webhook that adds the collector to trial pods\n"
      "  trials    bring final metrics into the Trial's status\n"
      "  exec      start a trainer as the webhook's launcher does");
  return 0;
}

// Replaces this process by a program in the same folder.
int become(const std::string& program, const std::string* command, Arguments arguments) {
  std::vector<std::string> words;
  if (command != nullptr) words.push_back(*command);
  words.insert(words.end(), arguments.begin(), arguments.end());
  const int reason = tacho::become_sibling(program, words);
  std::fprintf(stderr, "tacho-katib: cannot start %s: %s; install it in the same folder\n",
               tacho::sibling_path(program).c_str(), std::strerror(reason));
  return reason == ENOENT ? 127 : 126;
}

}  // namespace

int main(int argc, char** argv) {
  tacho::prepare_standard_streams();
  if (const auto status = tacho::serve_as_gpu_reader(argc, argv)) return *status;
  const std::vector<std::string> words(argv, argv + argc);
  const std::string_view called = words.empty() ? "" : tacho::last_part(words[0]);
  const Arguments all(words);
  if (called == "file-metricscollector") return tacho::collect_command(all.subspan(1), tacho::CalledAs::file_collector);
  if (called == "tfevent-metricscollector")
    return tacho::collect_command(all.subspan(1), tacho::CalledAs::tf_event_collector);
  const std::string command = argc > 1 ? words[1] : "--help";
  const Arguments rest = argc > 2 ? all.subspan(2) : Arguments();
  if (command == "collect") return tacho::collect_command(rest, tacho::CalledAs::collect);
  if (command == "db") return tacho::db_command(rest);
  if (command == "log") return tacho::log_command(rest);
  if (command == "inject" || command == "trials") return become(tacho::kKubeName, &command, rest);
  if (command == "exec") return become(tacho::kLauncherName, nullptr, rest);
  if (command == "--version" || command == "-V" || command == "version")
    return std::puts("tacho-katib " TACHO_VERSION) < 0 ? 1 : 0;
  if (command == "--help" || command == "-h" || command == "-help" || command == "help") return help();
  // The image's entry point is this program, and the webhook's arguments begin with a flag.
  if (command.starts_with('-')) return tacho::collect_command(all.subspan(1), tacho::CalledAs::collect);
  std::fprintf(stderr, "tacho-katib: unknown command %s; see tacho-katib --help\n", command.c_str());
  return 2;
}
