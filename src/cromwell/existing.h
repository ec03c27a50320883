// Whether a workflow's rows are in the table already (cromwell-bigquery.md §3.9): one query that counts them. Not thread-safe.
#pragma once
#include <cstdint>
#include <set>
#include <string>

#include "cromwell/row.h"
#include "cromwell/sender.h"

namespace tacho {

// What pass 2 would send.
class Expected {
 public:
  void add(const MetadataRow& row, int64_t now_ns);
  uint64_t rows() const { return rows_; }
  // SELECT COUNT(*) … over the workflows that have rows, within their dates; empty when it cannot be asked for.
  std::string sql(const std::string& table) const;

 private:
  uint64_t rows_ = 0;
  bool too_many_ = false, odd_id_ = false;
  std::set<std::string> ids_;
  int64_t first_ns_ = INT64_MAX, last_ns_ = INT64_MIN;
};

enum class Existing { all, some, unknown_now };
// unknown_now: BigQuery does not answer; try again later. A query that is not allowed counts as `some`.
Existing count_existing(const Expected& expected, const SenderSettings& settings);

}  // namespace tacho
