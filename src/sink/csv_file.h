// Rows as CSV lines in a LineFile, the header first: what -o FILE.csv and the store's metrics.csv have in common. Each
// line is one write. Not thread-safe; no allocation in a steady row.
#pragma once
#include "base/writer.h"
#include "model/row.h"
#include "os/line_file.h"

namespace tacho {

class CsvFile {
 public:
  CsvFile(LineFile file, bool whole_seconds) : file_(std::move(file)), whole_seconds_(whole_seconds) {}

  void begin(const Schema& schema);
  Status write(const Row& row);
  const std::string& path() const { return file_.path(); }

 private:
  Status write_header();

  LineFile file_;
  bool whole_seconds_;
  bool has_header_ = false;
  Schema schema_;
  Writer text_;
};

// How long a sink may wait for a slow reader with this row: the closing one is worth more patience.
inline int wait_ms_for(const Row& row) { return row.closing ? 10 * LineFile::kWaitMs : LineFile::kWaitMs; }

}  // namespace tacho
