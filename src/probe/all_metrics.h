// Every column in the order of the CSV header, with the probe that fills it. From the probe table. Thread-safe.
#pragma once
#include <vector>

#include "probe/kit/probe.h"

namespace tacho {

struct Metric {
  const Column* column;
  const ProbeInfo* probe;  // null: timestamp, which the session itself writes
};
std::vector<Metric> all_metrics();

}  // namespace tacho
