#include "deliver/metric_chunks.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "deliver/restore.h"

namespace tacho {
namespace {

// At most 10,000 samples and 1 MiB before compression: 26 series with the machine's, of about 25 bytes a sample, and of
// about 200 as JSON.
constexpr size_t kRowsAtOnce = 300, kJsonRowsAtOnce = 100;
constexpr size_t kListedAtOnce = 64;

}  // namespace

MetricChunks::MetricChunks(const SpoolRun& run, Notices& notices, const MetricMeta& meta)
    : run_(run),
      notices_(notices),
      store_folder_(meta.store_folder),
      fold_(meta.otlp ? otlp_series(meta) : prometheus_series(meta), meta.header, meta.started_ms, !meta.otlp),
      rows_at_once_(meta.json ? kJsonRowsAtOnce : kRowsAtOnce),
      ends_stale_(!meta.otlp) {}

std::optional<std::vector<MetricPoint>> MetricChunks::next(bool over, const std::optional<MetricEnd>& end) {
  stuck_.clear();
  if (complete_) return std::nullopt;
  while (rows_.size() <= 1 && read_segment()) {}
  std::vector<MetricPoint> points;
  if (rows_.size() > 1) {
    const size_t count = std::min(rows_at_once_, rows_.size() - 1);
    for (size_t i = 0; i < count; ++i) {
      fold_.row(rows_.front(), i + 1 == count, nullptr, points);
      rows_.pop_front();
    }
    return points;
  }
  if (!over || !stuck_.empty()) return std::nullopt;
  complete_ = true;
  if (rows_.empty()) fold_.nothing(points);
  else fold_.row(rows_.front(), true, end ? &*end : nullptr, points);
  if (ends_stale_) fold_.stale(points);
  rows_.clear();
  return points;
}

// False: there is none that can be read now. An outage leaves thousands of segments: they are listed some at a time,
// and anew where a number is missing, which may be on a disk that comes back.
bool MetricChunks::read_segment() {
  if (listed_.empty() || listed_.front().seal.number != next_segment_) {
    listed_.clear();
    for (Segment& segment : run_.sealed())
      if (segment.seal.number >= next_segment_ && listed_.size() < kListedAtOnce) listed_.push_back(std::move(segment));
  }
  if (listed_.empty()) return false;
  const Segment segment = std::move(listed_.front());
  listed_.pop_front();
  if (!read_rows(segment)) return listed_.clear(), false;
  next_segment_ = segment.seal.number + 1;
  return true;
}

bool MetricChunks::read_rows(const Segment& segment) {
  auto text = run_.read(segment);
  if (!text && text.error().code == Code::invalid) {
    if (!restore_segment(run_, segment, store_folder_)) {
      notices_.must(text.error().message());
      static_cast<void>(run_.repair(segment));
    }
    for (const Segment& again : run_.sealed())
      if (again.seal.number == segment.seal.number) text = run_.read(again);
  }
  if (!text) return stuck_ = text.error().message(), false;
  std::string_view rest(*text);
  bool header = true;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    if (!header && end > 0) rows_.emplace_back(rest.substr(0, end));
    header = false;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return true;
}

}  // namespace tacho
