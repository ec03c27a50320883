// burn_system MS: burns MS of CPU time, nearly all of it inside the kernel.
#include "burner.h"

int main(int argc, char** argv) {
  tacho::burner::burn_system_us(tacho::burner::number(argc, argv, 1, 1000) * 1000);
  return tacho::burner::finish("system");
}
