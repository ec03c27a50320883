// tacho-kube: the parts of tacho-katib that speak to Kubernetes. Each command is a file of its own.
#include <cstdio>
#include <string>
#include <vector>

#include "kube/trials/trials_command.h"
#include "kube/webhook/follow_log.h"
#include "kube/webhook/inject_command.h"
#include "os/standard_streams.h"

int main(int argc, char** argv) {
  tacho::prepare_standard_streams();
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string command = words.empty() ? "--help" : words[0];
  if (command == "inject") return tacho::inject_command({words.data() + 1, words.size() - 1});
  if (command == "follow-log") return tacho::follow_log_command({words.data() + 1, words.size() - 1});
  if (command == "trials") return tacho::trials_command({words.data() + 1, words.size() - 1});
  if (command == "--version" || command == "-V") return std::puts("tacho-kube " TACHO_VERSION) < 0 ? 1 : 0;
  if (command == "--help" || command == "-h")
    return std::puts("tacho-kube is run by tacho-katib; see tacho-katib inject --help and tacho-katib trials --help") <
                   0
               ? 1
               : 0;
  return std::fprintf(stderr, "tacho-kube: unknown command %s (there is inject, trials, follow-log)\n",
                      command.c_str()),
         2;
}
