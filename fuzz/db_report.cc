// A report as any client may send it, read row by row, held against the reader that protobuf itself generates; and
// time stamps.
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <string>

#include "katib.pb.h"
#include "katib/db/report_message.h"
#include "katib/model/time_stamp.h"
#include "target.h"

namespace {

void check_time_stamp(std::string_view text) {
  const auto time_us = tacho::parse_time_stamp_us(text);
  if (!time_us) return;
  tacho::TimeStampText written(*time_us);
  require(tacho::parse_sortable_us(written.sortable()) == time_us);
  require(tacho::parse_time_stamp_us(written.wire()) == time_us);
}

}  // namespace

void fuzz_one(std::string_view bytes) {
  check_time_stamp(bytes);
  // In small pieces, so that every boundary is met.
  const int size = static_cast<int>(bytes.size());
  google::protobuf::io::ArrayInputStream first(bytes.data(), size, 7), second(bytes.data(), size, 5);
  const tacho::Result<std::string> trial = tacho::read_trial_name(first);
  std::vector<tacho::ReportRow> rows;
  const tacho::Status read = tacho::read_report_rows(second, [&](const tacho::ReportRow& row) {
    check_time_stamp(row.time_stamp);
    rows.push_back(row);
    return tacho::ok();
  });

  // The generated reader also refuses strings that are not UTF-8, which we leave to the next step.
  api::v1::beta1::ReportObservationLogRequest request;
  if (!request.ParseFromArray(bytes.data(), size)) return;
  require(trial && *trial == request.trial_name());
  require(static_cast<bool>(read) && rows.size() == static_cast<size_t>(request.observation_log().metric_logs_size()));
  tacho::ReplyBytes reply;
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto& log = request.observation_log().metric_logs(static_cast<int>(i));
    require(rows[i].time_stamp == log.time_stamp() && rows[i].has_metric == log.has_metric());
    require(rows[i].name == log.metric().name() && rows[i].value == log.metric().value());
    reply.add(rows[i].time_stamp, rows[i].name, rows[i].value);
  }
  std::string written = reply.head();
  for (const std::string& part : reply.parts()) written += part;
  api::v1::beta1::GetObservationLogReply answer;
  require(answer.ParseFromString(written) &&
          static_cast<size_t>(answer.observation_log().metric_logs_size()) == rows.size());
  for (size_t i = 0; i < rows.size(); ++i)
    require(answer.observation_log().metric_logs(static_cast<int>(i)).metric().value() == rows[i].value);
}
