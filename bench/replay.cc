// bench_replay SAMPLES: a session that watches this machine for so many samples on a replayed clock, writing a
// compatible CSV to /dev/null. Prints the resident memory after a tenth of the samples and at the end, as JSON: it must
// not grow.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "engine/session.h"
#include "support/replay_clock.h"

namespace {

long resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) return std::strtol(line.c_str() + 6, nullptr, 10);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const long samples = argc > 1 ? std::atol(argv[1]) : 1'000'000;
  tacho::ReplayClock clock(samples);
  long seen = 0, early_kib = 0;
  clock.on_tick = [&] {
    if (++seen == samples / 10) early_kib = resident_kib();
  };
  tacho::Settings settings;
  settings.mode = tacho::Mode::watch;
  settings.outputs = {"/dev/null"};
  settings.format = "csv";
  settings.quiet = true;
  const auto status = tacho::run_session(settings, clock);
  std::printf("{\"samples\":%ld,\"early_kib\":%ld,\"end_kib\":%ld}\n", samples, early_kib, resident_kib());
  return status && status->exit_status == 0 ? 0 : 1;
}
