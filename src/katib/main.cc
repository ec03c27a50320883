// tacho-katib: the metrics collector of a trial and what stands behind it. Each command is a file of its own.
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "katib/db/commands.h"

int main(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "--help";
  const std::vector<std::string> words(argv + (argc > 1 ? 2 : 1), argv + argc);
  if (command == "db") return tacho::db_command(words);
  if (command == "log") return tacho::log_command(words);
  if (command == "--version" || command == "-V") return std::puts("tacho-katib " TACHO_VERSION) < 0 ? 1 : 0;
  return std::fprintf(stderr, "tacho-katib: unknown command\n"), 2;
}
