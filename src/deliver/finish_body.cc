#include "deliver/finish_body.h"

#include "base/text.h"
#include "base/time_text.h"
#include "base/units.h"
#include "os/clock.h"
#include "spool/contract.h"

namespace tacho {
namespace {

std::string seconds_utc(int64_t realtime_ns) { return std::string(IsoTime(realtime_ns).view().substr(0, 19)) + "Z"; }

}  // namespace

Json finish_body(const SpoolMeta& meta, std::string_view last_row) {
  Json body;
  body["data_source"] = meta.data_source;
  if (meta.outcome) {
    body["run_status"] = meta.outcome->run_status == meta::kRunFinished ? meta::kRunFinished : meta::kRunFailed;
    if (meta.outcome->exit_code) body["exit_code"] = *meta.outcome->exit_code;
    body["finished_at"] = meta.outcome->finished_at;
    return body;
  }
  const auto seconds = parse_double(last_row.substr(0, last_row.find(',')));
  body["run_status"] = meta::kRunFailed;
  body["finished_at"] = seconds_utc(seconds ? as_ns(*seconds) : system_clock().realtime_ns());
  return body;
}

void add_uris(Json& body, const SpoolState& state) {
  body["data_source"] = "s3";
  body["data_uris"] = Json::array();
  for (const auto& [number, uri] : state.uploaded) body["data_uris"].push_back(uri);
}

int64_t count_rows(const std::vector<Segment>& segments) {
  int64_t rows = 0;
  for (const Segment& segment : segments) rows += segment.seal.rows;
  return rows;
}

int64_t count_bytes(const std::vector<Segment>& segments) {
  int64_t bytes = 0;
  for (const Segment& segment : segments) bytes += segment.seal.bytes;
  return bytes;
}

std::string header_of(const SpoolRun& run, const std::vector<Segment>& segments) {
  if (segments.empty()) return {};
  std::string header;
  bool complete = false;
  const Status status = run.read_pieces(segments.front(), [&](std::string_view piece) {
    const size_t end = piece.find('\n');
    if (!complete) header.append(piece.substr(0, end));
    complete = complete || end != std::string_view::npos;
  });
  return status && complete ? header : std::string();
}

std::string last_row_of(const SpoolRun& run, const std::vector<Segment>& segments) {
  if (segments.empty()) return {};
  std::string tail;  // from the end of the last line but one on
  const Status status = run.read_pieces(segments.back(), [&](std::string_view piece) {
    tail.append(piece);
    const size_t end = tail.rfind('\n');
    const size_t start = end == std::string::npos || end == 0 ? std::string::npos : tail.rfind('\n', end - 1);
    if (start != std::string::npos) tail.erase(0, start);
  });
  if (!status || tail.size() < 2 || tail.front() != '\n') return {};
  return tail.substr(1, tail.size() - 2);
}

}  // namespace tacho
