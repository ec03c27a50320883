#include "katib/db/report_message.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "base/text.h"
#include "base/varint.h"

namespace tacho {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::ZeroCopyInputStream;

constexpr uint32_t kFirst = WireFormatLite::MakeTag(1, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
constexpr uint32_t kSecond = WireFormatLite::MakeTag(2, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
constexpr size_t kPartBytes = 1u << 20;

Error malformed() { return {Code::io, "the message cannot be read", "", "it is no ReportObservationLogRequest"}; }

bool read_text(CodedInputStream& in, std::string& text) {
  int size = 0;
  return in.ReadVarintSizeAsInt(&size) && in.ReadString(&text, size);
}

// A message within a message: `field(tag)` reads one field and says whether it could.
template <class Field>
bool read_message(CodedInputStream& in, const Field& field) {
  int size = 0;
  if (!in.ReadVarintSizeAsInt(&size)) return false;
  const auto limit = in.PushLimit(size);
  // Past the outer message's end: the limit would silently be the outer one.
  if (size > 0 && in.BytesUntilLimit() < size) return false;
  while (const uint32_t tag = in.ReadTag()) {
    if (!field(tag)) return false;
  }
  const bool whole = in.ConsumedEntireMessage() && in.BytesUntilLimit() == 0;
  in.PopLimit(limit);
  return whole;
}

bool read_metric(CodedInputStream& in, ReportRow& row) {
  row.has_metric = true;
  return read_message(in, [&](uint32_t tag) {
    if (tag == kFirst) return read_text(in, row.name);
    if (tag == kSecond) return read_text(in, row.value);
    return WireFormatLite::SkipField(&in, tag);
  });
}

bool read_row(CodedInputStream& in, ReportRow& row) {
  row.time_stamp.clear();
  row.name.clear();
  row.value.clear();
  row.has_metric = false;
  return read_message(in, [&](uint32_t tag) {
    if (tag == kFirst) return read_text(in, row.time_stamp);
    if (tag == kSecond) return read_metric(in, row);
    return WireFormatLite::SkipField(&in, tag);
  });
}

size_t varint_size(uint64_t value) {
  size_t bytes = 1;
  for (; value >= 0x80; value >>= 7) ++bytes;
  return bytes;
}

void put_text(std::string& out, uint32_t tag, std::string_view text) {
  if (text.empty()) return;
  put_varint(out, tag);
  put_varint(out, text.size());
  out += text;
}

size_t text_size(std::string_view text) { return text.empty() ? 0 : 1 + varint_size(text.size()) + text.size(); }

}  // namespace

Result<std::string> read_trial_name(ZeroCopyInputStream& message) {
  CodedInputStream in(&message);
  std::string trial;
  while (const uint32_t tag = in.ReadTag()) {
    if (!(tag == kFirst ? read_text(in, trial) : WireFormatLite::SkipField(&in, tag))) return malformed();
  }
  if (!in.ConsumedEntireMessage()) return malformed();
  return trial;
}

Status read_report_rows(ZeroCopyInputStream& message, const TakeRow& take) {
  CodedInputStream in(&message);
  ReportRow row;
  Status status = ok();
  const auto one_row = [&](uint32_t tag) {
    if (tag != kFirst) return WireFormatLite::SkipField(&in, tag);
    if (!read_row(in, row)) return false;
    status = take(row);
    ++row.number;
    return static_cast<bool>(status);
  };
  while (const uint32_t tag = in.ReadTag()) {
    if (!(tag == kSecond ? read_message(in, one_row) : WireFormatLite::SkipField(&in, tag)))
      return status ? malformed() : status;
  }
  if (!in.ConsumedEntireMessage()) return malformed();
  return ok();
}

void ReplyBytes::add(std::string_view time_stamp, std::string_view name, std::string_view value) {
  if (parts_.empty() || parts_.back().size() >= kPartBytes) parts_.emplace_back().reserve(kPartBytes + 1024);
  std::string& out = parts_.back();
  const size_t before = out.size();
  const size_t metric = text_size(name) + text_size(value);
  put_varint(out, kFirst);
  put_varint(out, text_size(time_stamp) + 1 + varint_size(metric) + metric);
  put_text(out, kFirst, time_stamp);
  put_varint(out, kSecond);
  put_varint(out, metric);
  put_text(out, kFirst, name);
  put_text(out, kSecond, value);
  total_ += out.size() - before;
}

std::string ReplyBytes::head() const {
  std::string head;
  put_varint(head, kFirst);
  put_varint(head, total_);
  return head;
}

}  // namespace tacho
