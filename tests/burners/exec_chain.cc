// burn_exec_chain TIMES MS: burns MS, replaces itself by itself, TIMES times. One process all the way.
#include "burner.h"

int main(int argc, char** argv) {
  using namespace tacho::burner;
  const int64_t times = number(argc, argv, 1, 5), ms = number(argc, argv, 2, 100);
  burn_user_us(ms * 1000);
  if (times > 1) {
    const std::string left = std::to_string(times - 1), each = std::to_string(ms);
    execl(self_path().c_str(), argv[0], left.c_str(), each.c_str(), static_cast<char*>(nullptr));
    return 127;
  }
  return finish("exec_chain");
}
