// CPUs and memory of a virtual machine, from its type's name or from what a task asked for. Pure, thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace tacho {

struct Machine {
  int64_t cpus = 0;
  int64_t memory_bytes = 0;
};

// custom-4-8192, n2-custom-8-16384-ext, n1-standard-4, …/machineTypes/e2-medium. Nothing when the name is not known.
std::optional<Machine> machine_of_type(std::string_view type);

// "3.75 GB", "512MB", "2 GiB", "1024": Cromwell counts every unit in powers of 1024; a bare number is bytes.
std::optional<int64_t> parse_memory_bytes(std::string_view text);
// "4", "4.0", "0.5" (which is 1).
std::optional<int64_t> parse_cpus(std::string_view text);

// What the GCP Batch backend makes of a request: N1, N2 or N2D by the platform, rounded to what such a machine can
// have.
Machine batch_shape(int64_t cpus, int64_t memory_bytes, std::string_view cpu_platform);

}  // namespace tacho
