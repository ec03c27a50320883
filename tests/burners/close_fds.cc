// burn_close_fds MS TRUTH_FILE: closes every descriptor, standard ones included, burns MS and writes its truth to a
// file.
#include "burner.h"

int main(int argc, char** argv) {
  using namespace tacho::burner;
  if (argc < 3) return 2;
  if (close_range(0, ~0U, 0) != 0) return 2;
  burn_user_us(number(argc, argv, 1, 200) * 1000);
  FILE* out = std::fopen(argv[2], "w");
  if (out == nullptr) return 2;
  Truth truth("close_fds");
  truth.add_usage();
  truth.print(out);
  std::fclose(out);
  return 0;
}
