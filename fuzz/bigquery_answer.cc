// What BigQuery, Google's token server, its metadata server or anything in between may answer; the files that hold
// credentials; and the records that a spool may hold after a crash.
#include <string>

#include "cromwell/metadata_table.h"
#include "net/google/bigquery.h"
#include "net/google/bigquery_errors.h"
#include "net/google/bigquery_schema.h"
#include "net/google/google_credentials.h"
#include "target.h"

namespace {

// Whatever the answer says, an insert of `count` rows names rows or not, and what is said of it is short.
void look_at_answer(std::string_view text) {
  for (const int status : {200, 302, 400, 401, 403, 404, 409, 412, 413, 429, 500, 501, 503}) {
    const tacho::BqVerdict verdict = tacho::classify_bq(tacho::BqCall::insert, status, text);
    require(status == 200 || verdict.what != tacho::BqClass::done);
    require(status != 200 || verdict.what == tacho::BqClass::done || verdict.what == tacho::BqClass::retry);
    require(verdict.message.size() <= 4 * 300);
  }
}

void look_at_table(std::string_view text) {
  const auto table = tacho::parse_bq_table(text);
  if (!table) return;
  static const tacho::BqTableSpec spec = tacho::bq_table_spec(tacho::kBqMetadata);
  const auto adapter = tacho::BqAdapter::make(spec, *table);
  if (!adapter) return;
  (void)adapter->patched_fields_json();
  (void)adapter->adapt(
      R"({"project_id":"p","shard":1,"disk_mounts":["/"],"inputs":[{"key":"k","type":"file","value":null}]})");
}

}  // namespace

void fuzz_one(std::string_view text) {
  look_at_answer(text);
  look_at_table(text);
  static const auto own =
      tacho::BqAdapter::make(tacho::bq_table_spec(tacho::kBqMetadata),
                             {"", tacho::bq_fields_json(tacho::bq_table_spec(tacho::kBqMetadata).fields), "", false});
  if (const auto row = own->adapt(text)) require(row->starts_with('{') && row->ends_with('}'));
  (void)tacho::parse_bq_fields(text);
  (void)tacho::in_partition_bounds(text, "start_time", 1'794'700'800);
  std::string row(text);
  if (tacho::trim_bq_row(row, 200)) require(row.size() <= 200 || row.size() == text.size());
  if (const auto credentials = tacho::parse_google_credentials(text, "file"); !credentials)
    require(credentials.error().message().size() < 500);
  if (const auto token = tacho::parse_token_answer(text)) {
    require(token->expires_in_s > 0 && token->expires_in_s <= 86'400);
    // It becomes a header line.
    require(token->token.find_first_of("\r\n ") == std::string::npos);
  }
  if (const auto base = tacho::bq_base_url(text.substr(0, text.find('\0')))) require(base->starts_with("http"));
}
