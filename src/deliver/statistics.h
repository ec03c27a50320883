// What became of the run goes into run.json of the local store, where there is one: `tacho show` tells it. Thread-safe
// (no state).
#pragma once
#include <cstdint>

#include "deliver/records.h"
#include "deliver/sentinel.h"

namespace tacho {

void record_delivery(const SpoolMeta& meta, const SpoolState& state, const Processing& processing, int64_t rows);

}  // namespace tacho
