// An answer as any DB manager may give it, read row by row, held against the reader that protobuf itself generates.
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>

#include <string>
#include <vector>

#include "katib.pb.h"
#include "katib/rpc/reply_rows.h"
#include "target.h"

void fuzz_one(std::string_view bytes) {
  static const google::protobuf::LogSilencer quiet;
  // In small pieces, so that every boundary is met.
  const int size = static_cast<int>(bytes.size());
  google::protobuf::io::ArrayInputStream pieces(bytes.data(), size, 7);
  std::vector<tacho::MetricRow> rows;
  const bool read = tacho::visit_rows(pieces, [&](const tacho::MetricRow& row) { rows.push_back(row); });

  api::v1::beta1::GetObservationLogReply reply;
  // The generated reader is stricter about tags of more bytes than they need.
  if (!reply.ParseFromArray(bytes.data(), size)) return;
  require(read && rows.size() == static_cast<size_t>(reply.observation_log().metric_logs_size()));
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto& log = reply.observation_log().metric_logs(static_cast<int>(i));
    require(rows[i].time_stamp == log.time_stamp() && rows[i].name == log.metric().name() &&
            rows[i].value == log.metric().value());
  }
}
