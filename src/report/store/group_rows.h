// The rows of a group of runs as one job's: sums over its members on one grid of time. What an interval added (CPU
// time, bytes) is spread over the grid and loses nothing; levels are means by time; of memory a row has the highest sum
// that there was, each value holding until its member's next row. Only what the members' processes used is summed:
// columns of machines are left out. Streams; not thread-safe.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "model/row.h"
#include "report/store/csv_reader.h"
#include "report/store/store.h"

namespace tacho {

class GroupRows {
 public:
  explicit GroupRows(std::span<const StoredRun> members);
  const Schema& schema() const { return schema_; }  // names are constants
  bool next(Row& row);
  double memory_peak_mib() const { return memory_peak_mib_; }  // of the rows so far; kAbsent: nobody told any
  int64_t unreadable() const { return unreadable_; }           // members without rows

 private:
  struct Member {
    CsvReader reader;
    std::vector<size_t> cells;  // where its reader has the columns of the schema
    Row row;                    // that is being spread
    bool has_row = false;
    int64_t interval_ns = 0, leaves_ns = 0;  // leaves: the end of its run
    double given = 0;                        // share of the row that the grid has already
    double memory_mib = kAbsent;             // that it holds now
  };
  struct Change {  // of what a member holds
    int64_t at_ns;
    Member* member;
    double memory_mib;
  };
  void open(const StoredRun& stored);
  void advance(Member& member);
  // Adds what falls into the interval; rows that end in it are used up.
  void take(Member& member, int64_t from_ns, int64_t to_ns, Row& row);
  void add_share(Member& member, int64_t from_ns, int64_t to_ns, bool is_rest, Row& row);
  double highest_memory(int64_t to_ns);

  Schema schema_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<Change> changes_;  // not applied yet
  int64_t at_ns_ = 0, end_ns_ = 0, width_ns_ = 0, rows_ = 0, unreadable_ = 0;
  double memory_peak_mib_ = kAbsent;
};

}  // namespace tacho
