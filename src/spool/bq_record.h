// What lies in the spool of a run whose rows go to BigQuery, and the agreement between the agent, who writes it without a JSON
// library and without a network, and the deliverer, who completes and sends it. Pure functions; thread-safe.
//
// Segments are NNNNNN.rows (open: NNNNNN.rows-open), without a header, one record a line:
//
//   312 1f2e3d4c {"table":"metrics","id":"m","us":1794650400123456,"row":{"timestamp":"2026-11-14T10:00:00.123456Z",…}}
//
// first the bytes of the JSON text, then its CRC-32C, then the text; a torn or damaged line is known by itself and skipped.
//   table  one of the names in meta.json's "tables"
//   id     how the insertId begins: "r" for runtime, "m" for metrics, "s" for samples of -o bq://
//   us     the row's own time in µs (start_time, timestamp): the end of the insertId
//   row    the row with all columns that are known; unknown ones are left out. Finite numbers only, INTEGER beyond 2^53 as a
//          decimal string, times RFC 3339 in UTC with 6 digits.
//
// insertId = ID-INSTANCE-H-US (cromwell-bigquery.md §2.2), H over meta.json's "scope". With "identity" set to null (-o bq://) the
// INSTANCE part is left out.
//
// meta.json has, beside "version", "run", "tacho_version" and "outcome" of sink/spool_meta.h:
//
//   "bigquery": {
//     "project": "",            empty: the project of the identity, else of the credentials
//     "dataset": "cromwell_monitoring",
//     "tables": {"runtime": "runtime", "metrics": "metrics"},   kind → table id; kinds of model/bigquery_tables.h, or "samples"
//     "columns": [{"name":…,"type":…,"mode":…}],                only for "samples": its schema; partitioned by "timestamp"
//     "scope": ["workflow id", "call name", "-1", "1"],         the parts of H; unknown parts are empty texts
//     "identity": {"instance_id": "123", "instance_name": …, "zone": …, "preemptible": true, "cpu_platform": …, "project_id": …,
//                  "machine_type": …},                          what flags and environment said; the others are asked for
//     "fallback": {…the same keys…},                            what the machine itself says, when nobody else knows
//     "boot_id": "…",           of the agent's machine: elsewhere no metadata server is asked
//     "metadata_host": "", "no_metadata": false,
//     "endpoint": "", "location": "", "create": true, "add_columns": false, "rows_per_request": 0,
//     "access_token_file": "", "credentials": "", "token_uri": "",   places, never a secret
//     "watch_preemption": true  the deliverer tells "@preempted" (engine/deliverer.h) when the machine is reclaimed
//   }
//
// The deliverer fills into a row those columns of identity that the row's table has and the row lacks; what it found out is in
// state.json before the first row is sent, so that ids never change.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/writer.h"

namespace tacho {

// Appends one record with its line's end. `row_json` is a JSON object without line breaks; `table` and `id` are plain words.
void put_bq_record(Writer& out, std::string_view table, std::string_view id, int64_t time_us, std::string_view row_json);

// The JSON text of a record line without its end; nothing when the line is torn or damaged.
std::optional<std::string_view> bq_record_json(std::string_view line);

// Length of the part of a segment's text that consists of whole records, and how many there are. Nothing behind the first
// damaged line counts.
size_t whole_bq_records(std::string_view text, int64_t* rows);

// "2026-11-14T10:00:00.123456Z", as rows have their times.
void put_bq_time(Writer& out, int64_t time_us);

}  // namespace tacho
