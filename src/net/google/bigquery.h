// BigQuery over REST (cromwell-bigquery.md §2): one method per call, one request each. A BqVerdict says what an answer
// means; the caller waits and repeats (bigquery_stream.h does it for rows). The token goes to the configured host only:
// no redirect to another host is followed, and no token is sent over plain http except to loopback. Not thread-safe.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "net/google/bigquery_errors.h"
#include "net/google/bigquery_schema.h"
#include "net/google/google_token.h"
#include "net/http/http.h"

namespace tacho {

// §2.3
inline constexpr size_t kBqRequestBytes = size_t{9} << 20, kBqRowBytes = 5'000'000, kBqRows = 500, kBqMaxRows = 10'000;

inline constexpr std::string_view kGoogleBigQuery = "https://bigquery.googleapis.com";

struct BqSettings {
  std::string project, dataset;
  std::string location;      // of a dataset that is made; empty: Google's default
  std::string endpoint;      // --bq-endpoint; empty: BIGQUERY_EMULATOR_HOST, then Google's own
  bool create = true;        // --bq-create=never clears it
  bool add_columns = false;  // --bq-add-columns
  size_t rows_per_request = kBqRows;
  int64_t column_wait_ms = 120'000;                       // after columns were added, before they are used
  std::function<std::string(std::string_view)> compress;  // gzip for request bodies; empty: plain
};

// "localhost:9050" → "http://localhost:9050/bigquery/v2"; a value with a path stays as it is; empty → the environment,
// then Google's.
Result<std::string> bq_base_url(std::string_view endpoint);
// Letters, digits, _ and - (a project also : and .): what may stand in a path. The Error names the value.
Status check_bq_name(std::string_view kind, std::string_view name);

struct BqRow {
  uint64_t tag = 0;  // the caller's
  std::string insert_id;
  std::string json;  // an object with our columns
};

class BigQuery {
 public:
  // `token` may be null: no Authorization at all.
  static Result<BigQuery> open(HttpClient& http, BqSettings settings, GoogleToken* token);

  BqVerdict get_dataset();
  BqVerdict create_dataset();
  BqVerdict get_table(const std::string& table, BqTableInfo& info);
  BqVerdict create_table(const BqTableSpec& spec);
  BqVerdict patch_table(const std::string& table, const std::string& fields_json, const std::string& etag);
  // `rows_json` are the members of "rows" joined by commas: {"insertId":…,"json":…}. Errors by row are in the verdict.
  BqVerdict insert(const std::string& table, std::string_view rows_json);
  // A query that gives one row with one number, such as SELECT COUNT(*); waits for it up to 60 s. max_bytes 0: no
  // limit.
  BqVerdict query_number(const std::string& sql, int64_t& number, int64_t max_bytes = 0);

  // A query whose rows have one text each, page by page, up to a limit; more rows, and answers that make no sense, are
  // `blocked`. After a `retry` the texts come again from the first one.
  BqVerdict query_words(const std::string& sql, size_t most, const std::function<void(std::string_view)>& take);

  // A query's answer page by page, as JSON; take() gives the token of the next page, empty after the last one. An error
  // of take() ends it as `blocked`. A `retry` that is handed out has been tried several times.
  BqVerdict query_pages(const std::string& sql, int64_t max_bytes,
                        const std::function<Result<std::string>(std::string_view page)>& take);
  // How many bytes a query would read; nothing is read, and nothing billed.
  BqVerdict dry_run(const std::string& sql, int64_t& bytes);

  const BqSettings& settings() const { return settings_; }
  const std::string& base_url() const { return base_url_; }
  GoogleToken* token() { return token_; }
  // From now on no request takes longer than this; 0: 30 s. (5 s during a final flush.)
  void set_limit_ms(int64_t limit_ms) { limit_ms_ = limit_ms; }

 private:
  BigQuery(HttpClient& http, BqSettings settings, GoogleToken* token)
      : http_(&http), settings_(std::move(settings)), token_(token) {}
  BqVerdict call(BqCall call, const char* method, const std::string& path, std::string body, std::string& answer,
                 const std::string& etag = {});
  BqVerdict run_query(const std::string& sql, int64_t max_bytes, int rows, std::string& answer, std::string& job_path);
  BqVerdict next_page(const std::string& job_path, const std::string& page, int rows, std::string& answer);
  std::string dataset_path() const;
  std::string table_path(const std::string& table) const;

  HttpClient* http_;
  BqSettings settings_;
  GoogleToken* token_;
  std::string base_url_;
  bool emulator_ = false, clear_text_ = false;
  int64_t limit_ms_ = 0;
};

// The JSON of one member of "rows".
void put_bq_row(std::string& out, std::string_view insert_id, std::string_view row_json);
// First 32 hex digits of SHA-256 over the parts joined with a zero byte (§2.2).
std::string bq_hash(const std::vector<std::string>& parts);

}  // namespace tacho
