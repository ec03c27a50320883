// Which of a workflow's rows are in the table already: one query counts them, each once however often it is there; if
// that is not the expected number, another one names them. Not thread-safe.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cromwell/row.h"
#include "cromwell/sender.h"

namespace tacho {

// What makes two rows the same, as a number: workflow, call, shard, attempt, and the status, since a row sent while the
// call ran differs from its final row.
uint64_t row_key(const MetadataRow& row);
using KeyParts = std::array<std::string, 5>;
uint64_t row_key(const KeyParts& parts);

// Rows that may be there. Eight bytes a row.
class Expected {
 public:
  void add(const MetadataRow& row);
  bool is_empty() const { return keys_.empty(); }
  // Sorted, each once.
  const std::vector<uint64_t>& keys();
  // The query over the workflows that have rows, within their dates; empty when no query is possible.
  std::string count_sql(const std::string& table) const;
  std::string keys_sql(const std::string& table) const;

 private:
  std::string from_where(const std::string& table) const;

  bool cannot_ask_ = false;
  std::vector<uint64_t> keys_;
  std::set<std::string> ids_, statuses_;
  int64_t first_ns_ = INT64_MAX, last_ns_ = INT64_MIN;
};

// The keys of those that are there, sorted; none where a query is not allowed, or not possible. Nothing: BigQuery does
// not answer; try again later.
std::optional<std::vector<uint64_t>> find_existing(Expected& expected, const SenderSettings& settings);

}  // namespace tacho
