// What an answer of BigQuery means (cromwell-bigquery.md §2.4): a value, from pure functions that are tested row by
// row. Thread-safe.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tacho {

enum class BqCall { get_dataset, create_dataset, get_table, create_table, patch_table, insert, query };

enum class BqClass {
  done,        // it worked; for a create also: somebody else was faster (409)
  retry,       // the same again, same ids, with back-off
  quota,       // the same with a back-off from 10 s to 5 min
  token,       // 401: a new token once, then blocked
  split,       // halve the batch; a single row is dropped
  too_large,   // halve it, and lower the cap for this run; a single row is trimmed, else dropped
  drop_batch,  // to the dead-letter file
  not_found,   // 404
  changed,     // 412: read again, merge again
  refused,     // 400 on a patch: give the added columns up
  blocked,     // fatal for the sink: checked again every 5 min
};

// One entry of insertErrors: what became of one row.
enum class BqRowClass { stopped, invalid, no_such_field, retry };
struct BqRowError {
  static constexpr size_t kNoRow = ~size_t{0};
  size_t index = kNoRow;  // kNoRow: it names none
  BqRowClass what = BqRowClass::invalid;
  std::string reason, location, message;
};

struct BqVerdict {
  BqClass what = BqClass::retry;
  int status = 0;       // 0: no answer
  std::string reason;   // error.errors[0].reason, else error.status
  std::string message;  // for a person; never a secret
  int64_t retry_after_ms = 0;
  std::vector<BqRowError> rows;  // of an insert: the errors of a 200 with insertErrors
};

// Of an answer. `location` is the Location header of a 3xx.
BqVerdict classify_bq(BqCall call, int status, std::string_view body, std::string_view location = {});
// Of a request without an answer.
BqVerdict classify_bq(const Error& error);

}  // namespace tacho
