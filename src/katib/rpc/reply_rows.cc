#include "katib/rpc/reply_rows.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <climits>

#include "katib.pb.h"

namespace tacho {
namespace {

namespace pb = google::protobuf;
using pb::io::CodedInputStream;

constexpr uint32_t kFirstField = 1 << 3 | 2;  // the only field of the answer and of its list, of known length

// Reads a length and makes it the limit; false when it is longer than what it is part of.
bool enter(CodedInputStream& in, CodedInputStream::Limit& outer) {
  uint32_t size = 0;
  if (!in.ReadVarint32(&size) || size > INT_MAX) return false;
  const int left = in.BytesUntilLimit();
  if (left >= 0 && size > static_cast<uint32_t>(left)) return false;
  outer = in.PushLimit(static_cast<int>(size));
  return true;
}

bool visit_list(CodedInputStream& in, const std::function<void(const MetricRow&)>& visit) {
  api::v1::beta1::MetricLog log;
  MetricRow row;
  for (uint32_t tag = in.ReadTag(); tag != 0; tag = in.ReadTag()) {
    if (tag != kFirstField) {
      if (!pb::internal::WireFormatLite::SkipField(&in, tag)) return false;
      continue;
    }
    CodedInputStream::Limit outer;
    if (!enter(in, outer)) return false;
    log.Clear();
    if (!log.MergeFromCodedStream(&in) || in.BytesUntilLimit() != 0) return false;
    in.PopLimit(outer);
    row.time_stamp = TimeStamp(log.time_stamp());
    row.name = log.metric().name();
    row.value = log.metric().value();
    visit(row);
  }
  return in.ConsumedEntireMessage() && in.BytesUntilLimit() == 0;  // a tag of 0 is no end
}

}  // namespace

// GetObservationLogReply{1: ObservationLog{1: MetricLog …}}
bool visit_rows(pb::io::ZeroCopyInputStream& reply, const std::function<void(const MetricRow&)>& visit) {
  CodedInputStream in(&reply);
  for (uint32_t tag = in.ReadTag(); tag != 0; tag = in.ReadTag()) {
    if (tag != kFirstField) {
      if (!pb::internal::WireFormatLite::SkipField(&in, tag)) return false;
      continue;
    }
    CodedInputStream::Limit outer;
    if (!enter(in, outer) || !visit_list(in, visit)) return false;
    in.PopLimit(outer);
  }
  return in.ConsumedEntireMessage();
}

}  // namespace tacho
