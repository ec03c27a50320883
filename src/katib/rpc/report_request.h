// A ReportObservationLogRequest as bytes, straight from rows: the generated classes would make, check and throw away a
// message for each row. Rows hold valid UTF-8 (row_shaper.h). Pure; thread-safe.
#pragma once
#include <cstddef>
#include <span>
#include <string_view>

#include "katib/model/row.h"

namespace tacho {

class ReportRequest {
 public:
  // Both outlive this.
  ReportRequest(std::string_view trial, std::span<const MetricRow> rows);
  size_t size() const { return size_; }
  // Writes size() bytes.
  void write(unsigned char* to) const;

 private:
  std::string_view trial_;
  std::span<const MetricRow> rows_;
  size_t log_size_ = 0, size_ = 0;
};

}  // namespace tacho
