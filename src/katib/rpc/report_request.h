// A ReportObservationLogRequest as bytes, straight from rows: the generated classes would make, check and throw away a
// message for each row. Rows hold valid UTF-8 (row_shaper.h). Pure; thread-safe.
#pragma once
#include <cstddef>
#include <span>
#include <string_view>

#include "katib/model/row_batch.h"

namespace tacho {

class ReportRequest {
 public:
  // All outlive this.
  ReportRequest(std::string_view trial, RowPart rows) : trial_(trial), rows_(rows) {}
  // Room that is enough for it; what is really needed, one pass over the rows tells, and that is the one that writes.
  size_t room() const;
  // Writes it somewhere into room() bytes; returns where.
  std::span<const unsigned char> write(unsigned char* to) const;

 private:
  std::string_view trial_;
  RowPart rows_;
};

}  // namespace tacho
