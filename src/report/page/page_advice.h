// What the page says about the size to ask for next time. Reads the rows once more. Thread-safe (no state).
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "report/store/input.h"

namespace tacho {

struct PageAdvice {
  struct Line {
    std::string what, advised, why;  // "memory", "12 GiB", "peak 9.8 GiB and a fifth more, had 32 GiB"
  };
  std::vector<Line> lines;
  std::vector<std::pair<std::string, std::string>> ready;  // "Slurm", the lines to paste
  std::string refused;                                     // why there is no advice; empty: there is some
};

PageAdvice page_advice(const Input& input);

}  // namespace tacho
