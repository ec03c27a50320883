// tacho-katib: the metrics collector of a trial and what stands behind it. Each command is a file of its own.
#include <cstdio>
#include <string_view>

int main(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "--help";
  if (command == "--version" || command == "-V") return std::puts("tacho-katib " TACHO_VERSION) < 0 ? 1 : 0;
  return std::fprintf(stderr, "tacho-katib: unknown command\n"), 2;
}
