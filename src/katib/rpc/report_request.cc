#include "katib/rpc/report_request.h"

#include <bit>
#include <cstdint>
#include <cstring>

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
size_t metric_size(const MetricRow& row) { return string_size(row.name) + string_size(row.value); }
size_t row_size(const MetricRow& row) { return string_size(row.time_stamp.text()) + message_size(metric_size(row)); }

unsigned char* put_head(unsigned char* to, unsigned char key, uint64_t size) {
  *to++ = key;
  for (; size >= 0x80; size >>= 7) *to++ = static_cast<unsigned char>(size | 0x80);
  *to++ = static_cast<unsigned char>(size);
  return to;
}
unsigned char* put_string(unsigned char* to, unsigned char key, std::string_view text) {
  if (text.empty()) return to;
  to = put_head(to, key, text.size());
  std::memcpy(to, text.data(), text.size());
  return to + text.size();
}

}  // namespace

ReportRequest::ReportRequest(std::string_view trial, std::span<const MetricRow> rows) : trial_(trial), rows_(rows) {
  for (const MetricRow& row : rows) log_size_ += message_size(row_size(row));
  size_ = string_size(trial) + message_size(log_size_);
}

void ReportRequest::write(unsigned char* to) const {
  to = put_string(to, kFirst, trial_);
  to = put_head(to, kSecond, log_size_);
  for (const MetricRow& row : rows_) {
    to = put_head(to, kFirst, row_size(row));
    to = put_string(to, kFirst, row.time_stamp.text());
    to = put_head(to, kSecond, metric_size(row));
    to = put_string(to, kFirst, row.name);
    to = put_string(to, kSecond, row.value);
  }
}

}  // namespace tacho
