// Reads a metrics CSV again, plain or gzip, finished or not: line by line, so that a file of days needs no memory. A
// line that is torn or has the wrong number of fields is skipped and counted. Not thread-safe.
#pragma once
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/gunzip.h"
#include "model/row.h"
#include "model/summary.h"

namespace tacho {

class CsvReader {
 public:
  // Reads the header; an error when there is none with a `timestamp`.
  Status open(const std::string& path);
  const std::vector<std::string>& columns() const { return columns_; }
  // The schema that follows from names and the first row's digits; good as long as the reader.
  Schema schema() const;
  // The next whole row, kAbsent where a field is empty; timestamps (cell 0, UNIX seconds) are as they are in the file.
  // interval_ns is the time since the row before; for the first row the caller's guess (0: the next row tells). Where
  // the clock was set back, two rows do not tell their interval: it is taken to be that of the row before.
  bool next(Row& row);
  // After the last row: looks again at the end of a file that grows.
  void go_on() { file_.clear(), ended_ = false; }
  int64_t skipped() const { return skipped_; }
  // Time before which the first interval began, in UNIX seconds; the outcome's start, when known.
  void set_start(double unix_s) { last_s_ = unix_s; }

 private:
  bool next_line(std::string& line);
  bool fill();
  bool parse(std::string_view line, Row& row);
  bool falls_next(double now_s);

  std::ifstream file_;
  GzipDecoder gunzip_;
  bool compressed_ = false;
  std::vector<char> chunk_;
  std::string text_;  // read and not yet split
  size_t at_ = 0;
  bool ended_ = false;
  std::vector<std::string> columns_;
  std::vector<int> decimals_;
  std::string line_;
  double last_s_ = kAbsent;
  int64_t last_interval_ns_ = 0;  // that two timestamps told
  int64_t rows_ = 0, skipped_ = 0;
};

// A sum over rows makes sense of these: seconds, bytes and counts that an interval added.
bool is_per_interval(std::string_view column);

}  // namespace tacho
