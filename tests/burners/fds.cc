// burn_fds N HOLD_MS: holds N open files (fewer where the hard limit is lower) for HOLD_MS.
#include <fcntl.h>

#include "burner.h"

int main(int argc, char** argv) {
  using namespace tacho::burner;
  const int64_t count = number(argc, argv, 1, 10'000);
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  int64_t opened = 0;
  while (opened < count && open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0) ++opened;
  sleep_ms(number(argc, argv, 2, 300));
  Truth truth("fds");
  truth.add("opened", opened);
  truth.add_usage();
  truth.print();
  return 0;
}
