// Reads a metrics CSV again, plain or gzip, finished or not: line by line, so that a file of days needs no memory. A
// line that is torn or has the wrong number of fields is skipped and counted. Fields may be quoted (RFC 4180); what is
// no number, in a column of text, is absent. Fast: a report of ten million rows is made while a person waits. Not
// thread-safe.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/row.h"
#include "model/summary.h"
#include "report/store/record_lines.h"

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
  // The text of a row, without its end: of the one that next() gave last, or of the first one.
  std::string_view line_of(const Row& row) const { return row.index == 0 ? first_line_ : line_; }
  // Gets all bytes of the file, decompressed, in the order of reading; before open().
  void tee(std::function<void(std::string_view)> taker) { lines_.tee(std::move(taker)); }
  bool is_at_end() const { return lines_.is_at_end(); }  // every byte of the file was read
  // After the last row: looks again at the end of a file that grows.
  void go_on() { lines_.go_on(); }
  int64_t skipped() const { return skipped_; }
  // Time before which the first interval began, in UNIX seconds; the outcome's start, when known.
  void set_start(double unix_s) { last_s_ = unix_s; }

 private:
  bool parse(Row& row);
  void note_first_rows();
  bool falls_next(double now_s);

  RecordLines lines_;
  std::vector<std::string> columns_;
  std::vector<int> decimals_;
  std::string_view line_;
  std::string first_line_;
  double last_s_ = kAbsent;
  int64_t last_interval_ns_ = 0;  // that two timestamps told
  int64_t rows_ = 0, skipped_ = 0;
};

// A sum over rows makes sense of these: seconds, bytes and counts that an interval added.
bool is_per_interval(std::string_view column);

}  // namespace tacho
