// tacho-gpu: the NVML reader (gpu_reader.h) as a program of its own, for a tacho that is linked statically and so
// cannot load NVIDIA's library. Nothing else is in it; packaging/gpu-helper builds it for old systems.
#include <cstdio>
#include <string_view>

#include "probe/gpu/gpu_reader.h"

int main(int argc, char** argv) {
  if (const auto status = tacho::serve_as_gpu_reader(argc, argv)) return *status;
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    std::puts("tacho-gpu " TACHO_VERSION);
    return 0;
  }
  std::fputs("tacho-gpu reads NVIDIA's driver for tacho, which starts it when it records; see tacho doctor\n", stderr);
  return 2;
}
