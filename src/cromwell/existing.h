// Which of a workflow's rows are in the table already: one query counts them, each once however often it is there; if
// that is not the expected number, another one names them. Not thread-safe.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "cromwell/row.h"
#include "cromwell/sender.h"

namespace tacho {

// What makes two rows the same, as a number: workflow, call, shard, attempt, and the status, since a row sent while the
// call ran differs from its final row.
uint64_t row_key(const MetadataRow& row);

// What pass 2 would send. Eight bytes a row.
class Expected {
 public:
  explicit Expected(int64_t now_ns) : now_ns_(now_ns) {}
  // Rows that streaming does not take go to a file, never into the table: they are not expected there.
  void add(const MetadataRow& row);
  bool is_empty() const { return keys_.empty(); }
  uint64_t out_of_bounds() const { return out_of_bounds_; }
  uint64_t distinct();
  // The query over the workflows that have rows, within their dates; empty when no query is possible.
  std::string count_sql(const std::string& table) const;
  std::string keys_sql(const std::string& table) const;

 private:
  std::string from_where(const std::string& table) const;

  int64_t now_ns_;
  uint64_t out_of_bounds_ = 0;
  bool cannot_ask_ = false;
  std::vector<uint64_t> keys_;
  std::set<std::string> ids_, statuses_;
  int64_t first_ns_ = INT64_MAX, last_ns_ = INT64_MIN;
};

struct Existing {
  enum class Kind { all, some, unknown_now } kind = Kind::some;
  std::vector<uint64_t> keys;  // some: of rows that are there, sorted; empty when it is not known which
};
// unknown_now: BigQuery does not answer; try again later. A query that is not allowed counts as `some`, with no key.
Existing find_existing(Expected& expected, const SenderSettings& settings);

}  // namespace tacho
