#include "katib/rpc/report_request.h"

#include <bit>
#include <cstdint>

#include "base/short_text.h"

namespace tacho {
namespace {

// All fields are of type bytes (2). ReportObservationLogRequest: 1 trial_name · 2 observation_log; ObservationLog: 1
// metric_logs; MetricLog: 1 time_stamp · 2 metric; Metric: 1 name · 2 value
constexpr unsigned char kFirst = 1 << 3 | 2, kSecond = 2 << 3 | 2;

size_t varint_size(uint64_t value) {
  if (value < 0x80) return 1;
  return (static_cast<size_t>(std::bit_width(value | 1)) + 6) / 7;
}
size_t message_size(size_t content) { return 1 + varint_size(content) + content; }
// proto3 leaves out what is empty.
size_t string_size(std::string_view text) { return text.empty() ? 0 : message_size(text.size()); }
size_t metric_size(const RowView& row) { return string_size(row.name) + string_size(row.value); }

unsigned char* put_head(unsigned char* to, unsigned char key, uint64_t size) {
  *to++ = key;
  for (; size >= 0x80; size >>= 7) *to++ = static_cast<unsigned char>(size | 0x80);
  *to++ = static_cast<unsigned char>(size);
  return to;
}
unsigned char* put_string(unsigned char* to, unsigned char key, std::string_view text) {
  if (text.empty()) return to;
  to = put_head(to, key, text.size());
  return reinterpret_cast<unsigned char*>(copy_text(reinterpret_cast<char*>(to), text));
}

}  // namespace

size_t ReportRequest::room() const {
  constexpr size_t kHead = 1 + 5;  // of a field below 4 GiB: its key and its length
  size_t room = 2 * kHead + trial_.size();
  for (size_t number = 0; number < rows_.size(); ++number) {
    const RowView row = rows_[number];
    room += 5 * kHead + row.time_stamp.size() + row.name.size() + row.value.size();
  }
  return room;
}

// How long the observation log is stands before it: the rows are written first, and what comes before them last.
std::span<const unsigned char> ReportRequest::write(unsigned char* to) const {
  unsigned char* const log = to + string_size(trial_) + 1 + 5;
  unsigned char* at = log;
  for (size_t number = 0; number < rows_.size(); ++number) {
    const RowView row = rows_[number];
    const size_t metric = metric_size(row);
    at = put_head(at, kFirst, string_size(row.time_stamp) + message_size(metric));
    at = put_string(at, kFirst, row.time_stamp);
    at = put_head(at, kSecond, metric);
    at = put_string(at, kFirst, row.name);
    at = put_string(at, kSecond, row.value);
  }
  const auto log_size = static_cast<size_t>(at - log);
  unsigned char* const begin = log - (message_size(log_size) - log_size) - string_size(trial_);
  put_head(put_string(begin, kFirst, trial_), kSecond, log_size);
  return {begin, at};
}

}  // namespace tacho
