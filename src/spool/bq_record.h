// Rows for BigQuery in the spool: what the agent writes and tacho-deliver sends. Segments (spool/layout.h) end in .rec
// and hold one record a line,
//
//   312 9f3c0a12 M 1794735000250000 {"timestamp":"2026-11-15T09:30:00.250000Z","seq":0,…}
//   length CRC-32C table time_us row
//
// where length and CRC-32C (eight hexadecimal digits) are those of the text from the table letter to the closing brace.
// A torn or damaged record is skipped; the next one begins after the next line end. The row holds what the agent knows;
// the deliverer adds the members that are the same in every row and those that only it can know, then drops those that
// the table lacks.
//
// Letters: R runtime row, M metrics row, E metrics row that carries an event (never thinned out), T row of another
// table (-o bq://…). insertId = "r-" or "m-" + instance_id + "-" + H(task) + "-" + time_us
// (docs/formats/cromwell-bigquery.md §2.2): the same however often a record is sent.
//
// meta.json of such a run, written by the agent (absent members are unknown):
//   {"kind":"bigquery","form":"monitor","run":"97203645992cd0be","strict":false,
//    "destination":{"project":"…","dataset":"…","tables":{"R":"runtime","M":"metrics"},"endpoint":"…","location":"…",
//                   "create":"auto|never","add_columns":false,"batch_rows":500},
//    "google":{"no_cloud":false},
//    "given":{"project_id":"…","zone":"…","instance_id":1,"instance_name":"…","preemptible":true,"cpu_platform":"…"},
//    "fallback":{the same names: for what the metadata server does not tell},
//    "task":{"workflow_id":"…","task_call_name":"…","shard":-1,"attempt":1},
//    "metrics":{columns that are the same in every M and E row: task key and run_id},
//    "boot_id":"…","ended":false}
// H(task) is over workflow_id, task_call_name, shard, attempt in this order, an absent one as the empty text. identity
// = given, else metadata server, else fallback, else the placeholder; the deliverer keeps it in state.json before the
// first send. A row is identity + "metrics" (M, E) or identity + "task" (R) + the record's own members; the later one
// wins.
//
// What is said between the two processes: spool/contract.h.
// An acknowledged segment is unlinked. While it sends one, the deliverer holds flock(LOCK_SH) on it: the agent thins
// out only segments on which it gets LOCK_EX at once, by renaming a shorter one over it and appending a new seal line
// (the last one counts). Runs in the folder beside this run's whose lock is free are leftovers: they are sent first.
//
// Pure, thread-safe; reading allocates nothing.
#pragma once
#include <cstdint>
#include <string_view>

#include "base/writer.h"

namespace tacho {

struct BqRecord {
  char table = 0;
  int64_t time_us = 0;
  std::string_view row;   // a JSON object
  std::string_view line;  // all of it, with the line's end
};

// Appends one record. `row` has no line break (JSON escapes it).
void write_bq_record(Writer& out, char table, int64_t time_us, std::string_view row);

// for (BqRecord record; records.next(record);) …
class BqRecords {
 public:
  explicit BqRecords(std::string_view text) : rest_(text) {}
  bool next(BqRecord& record);
  int64_t damaged() const { return damaged_; }  // lines passed over so far, a torn last one included

 private:
  std::string_view rest_;
  int64_t damaged_ = 0;
};

// Length of the part that ends with the last whole record.
size_t whole_bq_records(std::string_view text, int64_t* rows);

}  // namespace tacho
