// burn_pipeline JOBS PARALLEL MS: like make -j: JOBS recipes, PARALLEL at once, each a /bin/sh with two grandchildren
// (one in the background) that burn MS each. Everything is waited for.
#include "burner.h"

int main(int argc, char** argv) {
  using namespace tacho::burner;
  if (argc == 3 && std::string_view(argv[1]) == "worker") {
    burn_user_us(number(argc, argv, 2, 0) * 1000);
    return 0;
  }
  const int64_t jobs = number(argc, argv, 1, 20), parallel = number(argc, argv, 2, 4);
  const std::string self = self_path(), ms = argc > 3 ? argv[3] : "20";
  int64_t running = 0;
  for (int64_t i = 0; i < jobs; ++i) {
    if (running == parallel) {
      wait(nullptr);
      --running;
    }
    const pid_t child = fork();
    if (child < 0) return 2;
    if (child == 0) {
      execl("/bin/sh", "sh", "-c", "\"$0\" worker \"$1\" & \"$0\" worker \"$1\"; wait", self.c_str(), ms.c_str(),
            static_cast<char*>(nullptr));
      _exit(127);
    }
    ++running;
  }
  wait_all();
  return finish("pipeline");
}
