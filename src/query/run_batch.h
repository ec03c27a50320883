// The rows of some runs, made by one thread and stored by another: cells and their texts, side by side. Not
// thread-safe.
#pragma once
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "query/cells.h"
#include "query/run_list.h"

namespace tacho {

class RunBatch {
 public:
  struct Row {
    size_t table;  // of stored_tables()
    size_t first, count;
  };
  // A run, or why it cannot be read.
  struct Part {
    const ListedRun* listed;
    Status status;
    RunStamp stamp;
    bool runs_on;  // its tacho lives
    size_t first, count;
  };

  // Rows are of the part that was begun last.
  void begin(const ListedRun& listed) { parts_.push_back({&listed, ok(), {}, false, rows_.size(), 0}); }
  Part& part() { return parts_.back(); }
  void put(size_t table, const std::vector<Cell>& cells);

  std::span<const Part> parts() const { return parts_; }
  std::span<const Row> rows(const Part& part) const { return std::span(rows_).subspan(part.first, part.count); }
  std::span<const Cell> cells(const Row& row) const { return std::span(cells_).subspan(row.first, row.count); }

 private:
  std::string_view kept(std::string_view text);

  std::vector<Part> parts_;
  std::vector<Row> rows_;
  std::vector<Cell> cells_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* room_ = nullptr;
  size_t left_ = 0;
};

}  // namespace tacho
