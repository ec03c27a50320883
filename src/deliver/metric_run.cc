#include "deliver/metric_run.h"

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "deliver/metric_access.h"
#include "net/metrics/answers.h"
#include "net/metrics/remote_write.h"
#include "spool/contract.h"

namespace tacho {
namespace {

constexpr int64_t kSaveEvery_ns = kNsPerSec;  // while a chunk is taken apart
constexpr std::string_view kOutOfOrder = "out of order sample";

}  // namespace

Status MetricRun::open(bool ended) {
  const auto text = run_.meta();
  if (!text) return text.error();
  auto meta = parse_metric_meta(*text);
  if (!meta) return meta.error();
  meta_ = *meta;
  if (meta->started_ms <= 0 && !ended) return Error{Code::gone, "the run has not begun", "", ""};
  if (const Status usable = check_url(meta->url); !usable) return usable.error();
  if (!may_send_to(meta->url, meta->otlp, shared_.places))
    return Error{Code::invalid, "the credentials here do not go to the run's address", "",
                 meta->otlp ? "OTEL_EXPORTER_OTLP_ENDPOINT or TACHO_OTLP_URL says where they go"
                            : "TACHO_PROMETHEUS_URL says where they go"};
  const auto state_text = run_.state();
  auto state = state_text ? parse_metric_state(*state_text) : Result<MetricState>(MetricState{});
  if (!state && state.error().code != Code::invalid) return state.error();
  if (!state)
    shared_.notices.must("how far the delivery came is not known any more; all of it is sent again: " +
                         state.error().message() + ", " + run_.folder());
  state_ = state ? std::move(*state) : MetricState{};
  if (meta_.otlp)
    if (const auto spooled = parse_meta(*text)) settle_resource(*spooled);
  letters_.emplace(run_.folder(), meta_.run, meta_.otlp, state_.letter_bytes);
  chunks_.emplace(run_, shared_.notices, meta_);
  for (int64_t i = 0; i < state_.chunks; ++i)
    if (!chunks_->next(ended, meta_.end)) break;
  return ok();
}

// Written down before the first point goes: the next process must say the same of the machine.
void MetricRun::settle_resource(const SpoolMeta& spooled) {
  if (!state_.resource.is_array()) {
    Json start = spooled.start;
    if (shared_.add_cloud) shared_.add_cloud(start, spooled);
    const auto listed = spooled.series.find(meta::kResource);
    state_.resource = full_resource(listed != spooled.series.end() ? *listed : Json(), start, meta_);
    static_cast<void>(run_.write_state(metric_state_json(state_)));
  }
  resource_ = attributes_of(state_.resource);
}

std::string MetricRun::place() const {
  const auto parts = parse_url(meta_.url);
  return parts ? parts->place() : std::string("no address");
}

bool MetricRun::load(bool ended, std::string& stuck) {
  if (!ranges_.empty()) return true;
  if (!settle()) return stuck = reason_, false;
  // How it ended is in the newest description.
  if (ended && !meta_.end)
    if (const auto text = run_.meta())
      if (const auto meta = parse_metric_meta(*text)) meta_.end = meta->end;
  for (;;) {
    auto points = chunks_->next(ended, meta_.end);
    if (!points) return stuck = chunks_->stuck(), false;
    points_ = std::move(*points);
    const auto begin = std::min(static_cast<size_t>(state_.decided), points_.size());
    first_ = begin;
    if (begin < points_.size()) return ranges_.assign(1, {begin, points_.size()}), true;
    ++state_.chunks;
    state_.decided = 0;
  }
}

std::string MetricRun::part(bool json) const {
  if (!meta_.otlp) return write_request(chunks_->series(), meta_.labels, points());
  const OtlpRequest request{resource_, meta_.version, meta_.started_ms, chunks_->series(), points()};
  return json ? otlp_json_part(request) : otlp_protobuf(request);
}

void MetricRun::delivered(int64_t rejected, const std::string& words) {
  const auto count = static_cast<int64_t>(points().size());
  state_.sent += count - rejected;
  state_.refused += rejected;
  if (rejected > 0) tell_refused(words, false);
  decided();
}

void MetricRun::refused(const std::string& words) {
  if (unanswered_ && own_series() && words.find(kOutOfOrder) != std::string::npos) {
    doubtful_.push_back(ranges_.front().begin);
    doubtful_words_ = words;
    return decided();
  }
  if (meta_.otlp) letters_->add(otlp_json_request(part(true)) + "\n");
  else
    for (const MetricPoint& point : points()) keep_refused(point);
  state_.refused += static_cast<int64_t>(points().size());
  tell_refused(words, true);
  decided();
}

// OpenMetrics has no word for the end of a series.
void MetricRun::keep_refused(const MetricPoint& point) {
  if (is_stale(point.value)) return;
  letters_->add(openmetrics_line(sorted_labels(chunks_->series()[point.series], meta_.labels), point));
}

// Whose samples nobody else sends: what is newer than one of them is of this run.
bool MetricRun::own_series() const {
  return !meta_.otlp && std::any_of(meta_.labels.begin(), meta_.labels.end(),
                                    [](const auto& label) { return label.first == "run_id"; });
}

// Prometheus answers the same request once more: only the newest of a series may be said again, and whatever is older
// is out of order. If all are refused but the newest of each series, they came with the request whose answer was lost.
bool MetricRun::are_there() const {
  std::vector<bool> doubtful(points_.size()), newer(chunks_->series().size());
  for (const size_t index : doubtful_) doubtful[index] = true;
  for (size_t i = points_.size(); i-- > first_;) {
    if (doubtful[i] != newer[points_[i].series]) return false;
    newer[points_[i].series] = true;
  }
  return true;
}

void MetricRun::settle_doubtful(bool there) {
  if (doubtful_.empty()) return;
  (there ? state_.sent : state_.refused) += static_cast<int64_t>(doubtful_.size());
  for (const size_t index : doubtful_)
    if (!there) keep_refused(points_[index]);
  if (!there) tell_refused(doubtful_words_, true);
  doubtful_.clear();
}

bool MetricRun::halve() {
  const Range whole = ranges_.front();
  if (whole.end - whole.begin <= 1) return false;
  const size_t middle = whole.begin + (whole.end - whole.begin) / 2;
  ranges_.front() = {middle, whole.end};
  ranges_.push_front({whole.begin, middle});
  return true;
}

// The front range is settled, one way or the other.
void MetricRun::decided() {
  reason_.clear();
  blocked_ = false;
  state_.decided = static_cast<int64_t>(ranges_.front().end);
  ranges_.pop_front();
  dirty_ = true;
  if (ranges_.empty()) {
    settle_doubtful(are_there());
    unanswered_ = false;
    ++state_.chunks;
    state_.decided = 0;
  } else if (doubtful_.empty() && system_clock().monotonic_ns() - saved_ns_ > kSaveEvery_ns) {
    static_cast<void>(settle());
  }
}

// The letters first: what is written down as decided is never asked for again. Of a run that is over there is nothing
// to write: its folder goes.
bool MetricRun::settle() {
  if (!letters_) return true;
  settle_doubtful(false);  // what is not known is kept
  if (const Status kept = letters_->flush(); !kept) {
    reason_ = kept.error().message();
    shared_.notices.warn("dead letter", reason_ + "; the samples wait until they can be kept");
    return false;
  }
  if (!std::exchange(dirty_, false) || (chunks_->is_complete() && ranges_.empty())) return true;
  state_.letter_bytes = letters_->bytes();
  saved_ns_ = system_clock().monotonic_ns();
  if (const Status saved = run_.write_state(metric_state_json(state_)); !saved)
    shared_.notices.warn("state", saved.error().message());
  return true;
}

void MetricRun::tell_refused(const std::string& words, bool kept) {
  if (std::exchange(told_refused_, true)) return;
  const std::string text = "the receiver of metrics does not take some samples (" + words + ")" +
                           (kept ? "; what it refuses is kept in " + letters_->path() : "");
  if (alone_) shared_.notices.must(text);
  else shared_.notices.warn("refused " + place(), text);
  shared_.notices.message(kRefusedMessage);
}

DeliveryProgress MetricRun::progress(bool ended) {
  DeliveryProgress now{meta_.run, "", "", state_.sent, state_.refused, 0, blocked_};
  if (const auto parts = parse_url(meta_.url))
    now.destination = (meta_.otlp ? "otlp+" : "prometheus+") + parts->place();
  if (letters_ && letters_->any()) now.dead_letter = letters_->path();
  for (const Range& range : ranges_) now.waiting += static_cast<int64_t>(range.end - range.begin);
  if (!chunks_) return now;
  // Others are counted by a second reader: this one may be asked to go on.
  MetricChunks rest(run_, shared_.notices, meta_);
  for (int64_t i = 0; const auto points = rest.next(ended, meta_.end); ++i)
    if (i > state_.chunks || (i == state_.chunks && ranges_.empty()))
      now.waiting += static_cast<int64_t>(points->size()) - (i == state_.chunks ? state_.decided : 0);
  return now;
}

}  // namespace tacho
