// The rows of one metrics.csv, of which only the cells that are asked for are read. A line is a row on the same terms
// as for CsvReader. Not thread-safe.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "query/cells.h"
#include "report/store/record_lines.h"

namespace tacho {

class SampleFile {
 public:
  // names: the columns of the table, in its order; they must outlive it.
  explicit SampleFile(const std::vector<std::string_view>& names) : names_(names) {}

  // False when there is no such file, or it holds no samples.
  bool open(const std::string& path);
  void close() { lines_.reset(); }
  bool next();
  // By the position in `names`; NULL where the file has no such column, or the field is empty or no number.
  Cell cell(size_t column) const;

 private:
  bool split();
  bool read_header(std::string_view line);
  std::string_view field(size_t index) const;

  const std::vector<std::string_view>& names_;
  std::unique_ptr<RecordLines> lines_;
  std::string header_;             // that field_of_ and fields_ follow from
  std::vector<int32_t> field_of_;  // by column of the table; −1: none
  size_t fields_ = 0;
  std::string_view line_;
  std::vector<uint32_t> ends_;  // of each field: where its comma is
};

}  // namespace tacho
