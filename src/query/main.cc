// tacho-query: SQL over the run store, a program of its own beside tacho, which links no database.
#include <string>
#include <vector>

#include "os/standard_streams.h"
#include "query/query_command.h"

int main(int argc, char** argv) {
  tacho::prepare_standard_streams();
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  return tacho::query_command(words);
}
