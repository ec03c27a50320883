// The figures of one run as other tools' formats need them, rounded as run.json stores them: what -o writes at the end
// of a run and what `tacho export` writes from the store are then the same bytes. Pure; thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "model/run.h"

namespace tacho {

struct JobFigures {
  explicit JobFigures(const Run& run);

  const Run& run;
  int64_t duration_ms = 0;
  std::optional<double> cpu_user_s, cpu_system_s;  // 4 decimals
  std::optional<double> cpu_s() const {
    if (!cpu_user_s || !cpu_system_s) return std::nullopt;
    return *cpu_user_s + *cpu_system_s;
  }
  // CPU time by wall time; nothing for a run without either.
  std::optional<double> cores() const;
  // --job-name, else what a scheduler calls it, else the command's base name, else "tacho"; 64 bytes at most.
  std::string job_label() const;
};

// n / d to the nearest whole number, halves up; of numbers that are not negative.
int64_t half_up(double value);
// A tab, a line end or any other control byte becomes a blank.
std::string one_line(std::string_view text);

}  // namespace tacho
