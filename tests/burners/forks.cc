// burn_forks N US: N short-lived children, two at a time, each with US of user CPU time. All are waited for.
#include "burner.h"

int main(int argc, char** argv) {
  using namespace tacho::burner;
  const int64_t count = number(argc, argv, 1, 1000), us = number(argc, argv, 2, 300);
  for (int64_t i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child < 0) return 2;
    if (child == 0) {
      burn_user_us(us);
      _exit(0);
    }
    if (i > 0) wait(nullptr);
  }
  wait_all();
  Truth truth("forks");
  truth.add("children", count);
  truth.add_usage();
  truth.print();
  return 0;
}
