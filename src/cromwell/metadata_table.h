// The table `metadata`, a line a column (docs/formats/cromwell-bigquery.md 3.8). Constant data; thread-safe.
#pragma once
#include "base/writer.h"
#include "cromwell/row.h"
#include "model/bigquery.h"

namespace tacho {

extern const BqTableData kBqMetadata;
// All columns but inputs and inputs_truncated, which row_json() adds: they take what is left of a row's bytes.
void write_metadata_columns(Writer& out, const MetadataRow& row);
// One of the inputs.
void write_metadata_input(Writer& out, const CallInput& input);

}  // namespace tacho
