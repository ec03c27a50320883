// meta.json and state.json of a spooled run that goes to BigQuery (spool/bq_record.h says what the agent writes) as
// plain data. Thread-safe (no state).
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "deliver/records.h"
#include "net/google/bigquery.h"
#include "net/google/google_token.h"

namespace tacho {

struct BqMeta {
  std::string run, form;      // "monitor", or "run" for -o bq://
  BqSettings settings;        // without the project where nobody named one; the endpoint only tells where rows belong
  GoogleAuthSettings google;  // not of the file: our own settings
  std::string runtime_table, metrics_table, samples_table;  // empty: not in this run
  std::vector<BqField> samples;                             // columns of samples_table
  std::vector<std::string> scope;                           // the parts of H
  Json given, fallback;                                     // identity
  Json task, metrics, constant;                             // members that every runtime, metrics or samples row gets
  std::string boot_id;                                      // of the agent's machine, empty when unknown
  bool no_cloud = false;
};
Result<BqMeta> parse_bq_meta(std::string_view text);

// What was sent of a segment that is not done yet; void when the segment is another one by now.
struct BqPartial {
  uint32_t crc = 0;
  std::string rows;  // "0-499,502"
};

struct BqState {
  Json identity;  // null: not known yet
  std::string project;
  std::set<uint32_t> done;  // segments that are acknowledged and about to be removed
  std::map<uint32_t, BqPartial> partial;
  std::vector<BqRow> repeat;  // runtime rows to be sent once more, because the table was new
  int64_t reports = 0, sent = 0, dropped = 0;
};
Result<BqState> parse_bq_state(std::string_view text);  // errors: check_record()
std::string bq_state_json(const BqState& state);

// "0-499,502" and the rows that it means.
std::string row_ranges(const std::vector<bool>& rows);
void mark_rows(std::string_view ranges, std::vector<bool>& rows);

}  // namespace tacho
