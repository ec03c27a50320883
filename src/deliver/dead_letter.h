// Rows that BigQuery refused, and rows that are too old for streaming: kept beside the spool, so that nothing is lost
// without a trace.
//
//   <root>/dead-letter/<run>.jsonl {"time":…,"table":…,"insertId":…,"reason":…,"location":…,"message":…,"row":{…}}
//   <root>/load/<run>.<table>.ndjson     plain rows, for bq load --source_format=NEWLINE_DELIMITED_JSON
//
// A row is written once, even if it is refused again after a restart. Files are private. Not thread-safe.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "net/google/bigquery_stream.h"
#include "os/owned_folder.h"

namespace tacho {

class DeadLetters {
 public:
  // `folder` is the run's own in the spool.
  explicit DeadLetters(const std::string& folder);

  // Appends the row, on disk when it returns.
  Status keep(const std::string& table, const BqDropped& dropped);
  const std::string& last_path() const { return last_path_; }

 private:
  Status append(const std::string& path, const std::string& insert_id, const std::string& line);

  std::string root_, run_, last_path_;
  using Mark = std::array<uint64_t, 2>;  // of a hash: rows have kilobytes, and there may be many
  static Mark mark_of(std::string_view text);
  std::set<Mark>& known(const OwnedFolder& folder, const std::string& name);

  std::map<std::string, std::set<Mark>> known_;  // what each file has
};

}  // namespace tacho
