#include "sink/csv_file.h"

#include "codec/csv.h"

namespace tacho {

void CsvFile::begin(const Schema& schema) {
  schema_ = schema;
  // A disk that is full now may have room later: the first row tells.
  static_cast<void>(write_header());
}

// Tried again at every row until the place takes it: rows without a header are of no use.
Status CsvFile::write_header() {
  if (has_header_) return ok();
  text_.clear();
  write_csv_header(text_, schema_);
  const Status status = file_.write(text_.view());
  has_header_ = static_cast<bool>(status);
  return status;
}

Status CsvFile::write(const Row& row) {
  if (const Status status = write_header(); !status) return status;
  text_.clear();
  write_csv_row(text_, schema_, row, whole_seconds_);
  return file_.write(text_.view(), wait_ms_for(row));
}

}  // namespace tacho
