// burn_names DIR MS: runs under names that break a careless parser of /proc/PID/stat: a prctl name that looks like the
// rest of the line, and a program file called "a) b (c" in DIR. Two children burn MS each.
#include <sys/prctl.h>
#include <sys/stat.h>

#include <fstream>

#include "burner.h"

namespace {
using namespace tacho::burner;

void burn_as(const char* name, int64_t ms) {
  prctl(PR_SET_NAME, name);
  burn_user_us(ms * 1000);
  _exit(0);
}
}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const int64_t ms = number(argc, argv, 2, 100);
  if (std::string_view(argv[1]) == "worker") {
    burn_user_us(ms * 1000);
    return 0;
  }
  const std::string copy = std::string(argv[1]) + "/a) b (c";
  {
    std::ifstream from(self_path(), std::ios::binary);
    std::ofstream to(copy, std::ios::binary);
    to << from.rdbuf();
  }
  if (chmod(copy.c_str(), 0755) != 0) return 2;
  if (fork() == 0) burn_as(") R 1 1 1 0\n-1", ms);
  if (fork() == 0) {
    execl(copy.c_str(), "a) b (c", "worker", argc > 2 ? argv[2] : "100", static_cast<char*>(nullptr));
    _exit(127);
  }
  prctl(PR_SET_NAME, "x) S (y) 7 ((");
  wait_all();
  unlink(copy.c_str());
  return finish("names");
}
