// A row of the metadata table as BigQuery takes it (cromwell-bigquery.md §3.8), with its insertId. Pure, thread-safe.
#pragma once
#include <string>

#include "cromwell/row.h"

namespace tacho {

inline constexpr size_t kMostRowBytes = 4'000'000;

// Files whose size_bytes is not known have a NULL value. Inputs that do not fit are left out and inputs_truncated is
// set.
std::string row_json(const MetadataRow& row, size_t most_bytes = kMostRowBytes);
// "c-" and a hash of workflow, full call name, shard and attempt; followed by the status while that may change.
std::string row_insert_id(const MetadataRow& row);
// Roughly, before the sizes are known.
size_t row_bytes(const MetadataRow& row);
// 2026-11-15T09:30:00.250000Z
std::string rfc3339_us(int64_t realtime_ns);

}  // namespace tacho
