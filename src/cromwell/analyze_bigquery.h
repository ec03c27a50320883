// The rows of a table through BigQuery's API: the columns that are needed and the table
// has, of the last days only, after a dry run that says how much would be read. Not thread-safe.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cromwell/analyze_source.h"
#include "net/google/bigquery.h"

namespace tacho {

struct BqPlace {
  std::string project, dataset;
};
// "bq://PROJECT.DATASET"; nothing when it does not begin with bq://.
std::optional<Result<BqPlace>> parse_bq_place(std::string_view text);

struct BqSourceSettings {
  GoogleAuthSettings auth;
  std::string endpoint;
  int64_t since_ns = 0;
  int64_t most_bytes = 1'000'000'000;  // of all tables together
};

class BqTableSource {
 public:
  explicit BqTableSource(BqSourceSettings settings) : settings_(std::move(settings)) {}

  // `time_column` is the one that the table is partitioned by.
  Status read(const BqPlace& place, const std::string& table, std::string_view time_column,
              std::span<const std::string_view> wanted, const TableSink& sink, TableCount& count);

 private:
  Status open(const BqPlace& place);
  Result<std::vector<BqField>> fields_of(const std::string& table);
  Status allow(const std::string& sql, const std::string& table);

  BqSourceSettings settings_;
  HttpClient http_;
  std::unique_ptr<GoogleToken> token_;
  std::optional<BigQuery> client_;
  int64_t bytes_ = 0;  // allowed so far
};

}  // namespace tacho
