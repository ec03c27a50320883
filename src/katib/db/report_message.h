// A ReportObservationLogRequest row by row, straight from the bytes of the wire: a report of a million rows as
// objects would take five times the room of its bytes. Fields in any order, repeated or unknown ones are read as
// protobuf says. Pure; not thread-safe.
#pragma once
#include <google/protobuf/io/zero_copy_stream.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tacho {

struct ReportRow {
  int64_t number = 0;  // from 0, as it stands in the list
  std::string time_stamp, name, value;
  bool has_metric = false;
};

// An error of `row` ends the reading and is returned; bytes that are no such message are Code::io.
using TakeRow = std::function<Status(const ReportRow& row)>;
Result<std::string> read_trial_name(google::protobuf::io::ZeroCopyInputStream& message);
Status read_report_rows(google::protobuf::io::ZeroCopyInputStream& message, const TakeRow& row);

// The answer of Get: the rows as the bytes of a GetObservationLogReply, in parts of about a mebibyte.
class ReplyBytes {
 public:
  void add(std::string_view time_stamp, std::string_view name, std::string_view value);
  // What must stand before the parts, and the parts.
  std::string head() const;
  uint64_t total_bytes() const { return total_; }
  std::vector<std::string>& parts() { return parts_; }

 private:
  std::vector<std::string> parts_;
  uint64_t total_ = 0;
};

}  // namespace tacho
