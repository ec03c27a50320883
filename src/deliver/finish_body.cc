#include "deliver/finish_body.h"

#include "base/text.h"
#include "base/units.h"
#include "codec/iso_time.h"
#include "os/clock.h"

namespace tacho {
namespace {

std::string seconds_utc(int64_t realtime_ns) { return std::string(IsoTime(realtime_ns).view().substr(0, 19)) + "Z"; }

}  // namespace

Json finish_body(const SpoolMeta& meta, std::string_view last_row) {
  Json body;
  body["data_source"] = meta.data_source;
  if (meta.outcome) {
    body["run_status"] = meta.outcome->run_status == "finished" ? "finished" : "failed";
    if (meta.outcome->exit_code) body["exit_code"] = *meta.outcome->exit_code;
    body["finished_at"] = meta.outcome->finished_at;
    return body;
  }
  const auto seconds = parse_double(last_row.substr(0, last_row.find(',')));
  body["run_status"] = "failed";
  body["finished_at"] = seconds_utc(seconds ? static_cast<int64_t>(*seconds * 1e9) : system_clock().realtime_ns());
  return body;
}

void add_uris(Json& body, const SpoolState& state) {
  body["data_source"] = "s3";
  body["data_uris"] = Json::array();
  for (const auto& [number, uri] : state.uploaded) body["data_uris"].push_back(uri);
}

Result<std::string> whole_run_csv(const SpoolRun& run, const SpoolMeta& meta, const std::vector<Segment>& segments) {
  std::string csv = meta.header + "\n";
  csv.reserve(csv.size() + static_cast<size_t>(count_bytes(segments)));
  for (const Segment& segment : segments) {
    const auto text = run.read(segment);
    if (!text) return text.error();
    csv.append(*text, text->find('\n') + 1);
  }
  return csv;
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

std::string last_row_of(const SpoolRun& run, const std::vector<Segment>& segments) {
  if (segments.empty()) return {};
  const auto text = run.read(segments.back());
  if (!text || text->size() < 2) return {};
  const size_t start = text->rfind('\n', text->size() - 2);
  return start == std::string::npos ? std::string{} : text->substr(start + 1, text->size() - start - 2);
}

}  // namespace tacho
