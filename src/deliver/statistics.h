// Writes what became of the run into run.json of the local store, if there is one: `tacho show` prints it. Thread-safe
// (no state).
#pragma once
#include <cstdint>

#include "deliver/records.h"
#include "deliver/sentinel.h"

namespace tacho {

void record_delivery(const SpoolMeta& meta, const SpoolState& state, const Processing& processing, int64_t rows);

}  // namespace tacho
