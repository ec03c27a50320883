#include "deliver/metric_delivery.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "deliver/compress.h"
#include "deliver/metric_access.h"
#include "deliver/thin_out.h"
#include "net/http/retry.h"
#include "net/metrics/remote_write.h"
#include "spool/contract.h"

namespace tacho {
namespace {

constexpr int64_t kLongestMetricPause_ns = 5 * kNsPerSec;
constexpr int64_t kSettingPause_ns = 300 * kNsPerSec, kUndescribed_ns = kNsPerSec, kSoon_ns = 0;
constexpr int64_t kSaveEvery_ns = kNsPerSec;  // while a chunk is taken apart
constexpr int kBrokenBeforeProbe = 5;
constexpr size_t kMostAnswer = size_t{64} << 10;

}  // namespace

MetricDelivery::MetricDelivery(SpoolRun run, Role role, Delivering& shared)
    : SpooledDelivery(std::move(run), role, shared, kSealedEnding, kLongestMetricPause_ns),
      random_(std::random_device{}()) {}

void MetricDelivery::finish(int64_t deadline_ns) {
  SpooledDelivery::finish(deadline_ns);
  // A pause of our own ends; what a server asked for holds.
  if (backoff_.attempts() > 0 && next_ns_ > 0 && told_outage_) next_ns_ = 0;
}

bool MetricDelivery::sends_too(const SpoolMeta& leftover) const {
  return opened_ && (leftover.kind == kOtlpKind) == meta_.otlp && leftover.api_url == meta_.url &&
         (leftover.kind == kOtlpKind || leftover.kind == kPrometheusKind);
}

Status MetricDelivery::open() {
  const auto text = run_.meta();
  if (!text) return text.error();
  auto meta = parse_metric_meta(*text);
  if (!meta) return meta.error();
  meta_ = *meta;
  if (meta->started_ms <= 0 && !ended_) return Error{Code::gone, "the run has not begun", "", ""};
  if (const Status usable = check_url(meta->url); !usable) return usable.error();
  if (!may_send_to(meta->url, meta->otlp, shared_.places))
    return Error{Code::invalid, "the credentials here do not go to the run's address", "",
                 meta->otlp ? "OTEL_EXPORTER_OTLP_ENDPOINT or TACHO_OTLP_URL says where they go"
                            : "TACHO_PROMETHEUS_URL says where they go"};
  auto state = read_state(parse_metric_state);
  if (!state) return state.error();
  state_ = std::move(*state);
  auto credentials = metric_credentials(meta_.otlp);
  if (!credentials) return credentials.error();
  credentials_ = std::move(*credentials);
  if (meta_.otlp) {
    auto certificate = otlp_certificate();
    if (!certificate) return certificate.error();
    certificate_ = std::move(*certificate);
    if (const auto spooled = parse_meta(*text)) settle_resource(*spooled);
  }
  letters_.emplace(run_.folder(), meta_.run, meta_.otlp);
  chunks_.emplace(run_, shared_.notices, meta_);
  for (int64_t i = 0; i < state_.chunks; ++i)
    if (!chunks_->next(ended_, meta_.end)) break;
  opened_ = true;
  return ok();
}

// Written down before the first point goes: the next process must say the same of the machine.
void MetricDelivery::settle_resource(const SpoolMeta& spooled) {
  if (!state_.resource.is_array()) {
    Json start = spooled.start;
    if (shared_.add_cloud) shared_.add_cloud(start, spooled);
    const auto listed = spooled.series.find(meta::kResource);
    state_.resource = full_resource(listed != spooled.series.end() ? *listed : Json(), start, meta_);
    dirty_ = true;
    save();
  }
  resource_ = attributes_of(state_.resource);
}

Step MetricDelivery::proceed() {
  if (is_late()) return left_late();
  if (!opened_)
    if (const Status status = open(); !status) {
      reason_ = status.error().message();
      if (ended_) return left(reason_);
      if (status.error().code == Code::invalid) shared_.notices.warn("metrics", reason_);
      return wait_until(now_ns() + (status.error().code == Code::invalid ? kSettingPause_ns : kUndescribed_ns));
    }
  if (const int64_t gone = thin_out(run_, [&](uint32_t number) { return chunks_->has_read(number); }); gone > 0)
    shared_.notices.must("the spool in memory is full: " + std::to_string(gone) +
                         " of the oldest rows were merged into their neighbours; totals and peaks stay true");
  if (now_ns() < next_ns_) return wait_until(next_ns_);
  if (ranges_.empty() && !next_chunk()) {
    if (!chunks_->stuck().empty()) {
      reason_ = chunks_->stuck();
      return ended_ ? give_up(reason_) : wait_until(now_ns() + kUndescribed_ns);
    }
    if (!ended_) return wait_until(kNever);
    return removed();
  }
  return send_next();
}

// How it ended is in the newest description.
bool MetricDelivery::next_chunk() {
  if (ended_ && !meta_.end)
    if (const auto text = run_.meta())
      if (const auto meta = parse_metric_meta(*text)) meta_.end = meta->end;
  for (;;) {
    auto points = chunks_->next(ended_, meta_.end);
    if (!points) return false;
    points_ = std::move(*points);
    const auto begin = std::min(static_cast<size_t>(state_.decided), points_.size());
    if (begin < points_.size()) {
      ranges_.assign(1, {begin, points_.size()});
      judging_ = false;
      return true;
    }
    ++state_.chunks;
    state_.decided = 0;
  }
}

std::string MetricDelivery::body_of(std::span<const MetricPoint> points, bool json) const {
  if (!meta_.otlp) return snappy_block(write_request(chunks_->series(), meta_.labels, points));
  const OtlpRequest request{resource_, meta_.version, meta_.started_ms, chunks_->series(), points};
  return json ? otlp_json(request) : otlp_protobuf(request);
}

MetricDelivery::Sent MetricDelivery::send(std::span<const MetricPoint> points) {
  HttpRequest request;
  request.method = "POST";
  request.url = meta_.url;
  request.body = body_of(points, meta_.json);
  request.has_body = true;
  request.accept_gzip = true;
  request.redirects = 5;
  request.headers = credentials_;
  request.headers.emplace_back("User-Agent", "tacho/" TACHO_VERSION);
  request.headers.emplace_back("Content-Type", meta_.json ? "application/json" : "application/x-protobuf");
  if (meta_.otlp) request.tls.ca_pem = certificate_;
  if (!meta_.otlp) {
    request.headers.emplace_back("Content-Encoding", "snappy");
    request.headers.emplace_back("X-Prometheus-Remote-Write-Version", "0.1.0");
  } else if (meta_.gzip) {
    request.headers.emplace_back("Content-Encoding", "gzip");
    request.body = gzip(request.body);
  }
  partial_.clear();
  request.on_chunk = [this](std::string_view piece) {
    if (meta_.otlp) partial_.append(piece.substr(0, kMostAnswer - std::min(kMostAnswer, partial_.size())));
    return true;
  };
  const auto answer = shared_.http.send(request);
  Sent sent;
  if (!answer) {
    sent.words = answer.error().message();
    sent.cancelled = answer.error().code == Code::gone;
    sent.is_setting = answer.error().code == Code::invalid;
    return sent;
  }
  sent.status = answer->status;
  sent.retry_after_ms = parse_retry_after_ms(answer->header("retry-after"), shared_.clock.realtime_ns());
  sent.words = "status " + std::to_string(answer->status);
  if (const std::string said = server_words(answer->body); answer->status >= 300 && !said.empty())
    sent.words += ": " + said;
  return sent;
}

Step MetricDelivery::send_next() { return judge(send(front())); }

Step MetricDelivery::judge(const Sent& sent) {
  if (sent.cancelled) return is_late() ? left_late() : wait_until(now_ns() + 10 * kNsPerMs);
  if (sent.is_setting) return wrong_setting(sent);
  const auto protocol = meta_.otlp ? MetricProtocol::otlp : MetricProtocol::remote_write;
  const MetricAnswer answer = classify_metrics(protocol, sent.status);
  if (answer != MetricAnswer::broken) broken_ = 0;
  switch (answer) {
    case MetricAnswer::delivered: return delivered();
    case MetricAnswer::refused: return meta_.otlp ? refused(sent) : halve(sent);
    case MetricAnswer::too_large: return halve(sent);
    case MetricAnswer::slow_down: return pause(sent, true);
    case MetricAnswer::broken: return broken(sent);
    case MetricAnswer::outage: return pause(sent, false);
    case MetricAnswer::settings: return wrong_setting(sent);
  }
  return pause(sent, false);
}

Step MetricDelivery::delivered() {
  const auto count = static_cast<int64_t>(front().size());
  int64_t rejected = 0;
  if (meta_.otlp)
    if (const auto partial = parse_partial_success(partial_, meta_.json)) {
      rejected = std::min(partial->rejected, count);
      if (rejected > 0) tell_refused(server_words(partial->message));
      else if (!partial->message.empty() && !std::exchange(told_refused_, true))
        shared_.notices.warn("otlp", "the receiver says: " + server_words(partial->message));
    }
  state_.sent += count - rejected;
  state_.refused += rejected;
  if (std::exchange(told_outage_, false)) reason_.clear();
  told_setting_ = false;
  backoff_.reset();
  decided();
  return again_soon();
}

// The front range is settled, one way or the other.
void MetricDelivery::decided() {
  state_.decided = static_cast<int64_t>(ranges_.front().end);
  ranges_.pop_front();
  dirty_ = true;
  if (ranges_.empty()) {
    ++state_.chunks;
    state_.decided = 0;
  }
  if (ranges_.empty() || now_ns() - saved_ns_ > kSaveEvery_ns) save();
}

void MetricDelivery::save() {
  if (!std::exchange(dirty_, false)) return;
  saved_ns_ = now_ns();
  if (const Status saved = run_.write_state(metric_state_json(state_)); !saved)
    shared_.notices.warn("state", saved.error().message());
}

Step MetricDelivery::left(std::string reason) {
  save();
  return SpooledDelivery::left(std::move(reason));
}

Step MetricDelivery::again_soon() { return wait_until(now_ns() + kSoon_ns); }

std::string MetricDelivery::lines_of(std::span<const MetricPoint> points) const {
  if (meta_.otlp) return body_of(points, true) + "\n";
  std::string lines;
  for (const MetricPoint& point : points)
    if (!is_stale(point.value))
      lines += openmetrics_line(sorted_labels(chunks_->series()[point.series], meta_.labels), point);
  return lines;
}

Step MetricDelivery::refused(const Sent& sent) {
  if (const Status kept = letters_->keep(lines_of(front())); !kept) {
    // Nothing is dropped that could not be kept: it waits like in an outage.
    shared_.notices.must(kept.error().message());
    return pause({.words = kept.error().message()}, false);
  }
  state_.refused += static_cast<int64_t>(front().size());
  tell_refused(sent.words);
  decided();
  return again_soon();
}

void MetricDelivery::tell_refused(const std::string& words) {
  if (std::exchange(told_refused_, true)) return;
  const bool is_kept = state_.refused > 0 || !meta_.otlp || partial_.empty();
  shared_.notices.must("the receiver of metrics does not take some samples (" + words + ")" +
                       (is_kept ? "; what it refuses is kept in " + letters_->path() : ""));
  shared_.notices.message(kRefusedMessage);
}

Step MetricDelivery::halve(const Sent& sent) {
  const Range whole = ranges_.front();
  if (whole.end - whole.begin <= 1) return refused(sent);
  const size_t middle = whole.begin + (whole.end - whole.begin) / 2;
  ranges_.front() = {middle, whole.end};
  ranges_.push_front({whole.begin, middle});
  return again_soon();
}

// The protocol has a server's own fault repeated, but some say so of samples that they will never take.
Step MetricDelivery::broken(const Sent& sent) {
  if (judging_) return halve(sent);
  if (++broken_ < kBrokenBeforeProbe) return pause(sent, false);
  broken_ = 0;
  const Sent probe = send({});
  if (probe.status < 200 || probe.status >= 300) return pause(sent, false);
  judging_ = true;
  return halve(sent);
}

Step MetricDelivery::pause(const Sent& sent, bool slow_down) {
  const auto parts = parse_url(meta_.url);
  reason_ = (parts ? parts->place() : meta_.url) + ": " + sent.words;
  if (!std::exchange(told_outage_, true))
    shared_.notices.warn("metrics", "metrics wait: " + reason_ + "; the samples are kept and sent later");
  const double chance = std::uniform_real_distribution<double>(0, 1)(random_);
  int64_t pause_ms = backoff_.next_ms(chance, sent.retry_after_ms);
  if (slow_down && sent.retry_after_ms > 0) pause_ms = sent.retry_after_ms;
  next_ns_ = now_ns() + pause_ms * kNsPerMs;
  if (sent.retry_after_ms > 0) told_outage_ = false;  // finish() does not shorten what a server asked for
  return wait_until(next_ns_);
}

Step MetricDelivery::wrong_setting(const Sent& sent) {
  const auto parts = parse_url(meta_.url);
  reason_ = (parts ? parts->place() : meta_.url) + ": " + sent.words;
  if (!std::exchange(told_setting_, true))
    shared_.notices.warn("metrics setting", "metrics are not taken, because a setting is wrong: " + reason_ +
                                                "; look at the address and its credentials. The samples are kept");
  if (ended_) return left(reason_);
  next_ns_ = now_ns() + kSettingPause_ns;
  return wait_until(next_ns_);
}

std::optional<Progress> MetricDelivery::progress() {
  Progress now{meta_.run, "", "", state_.sent, state_.refused, 0, told_setting_};
  if (const auto parts = parse_url(meta_.url))
    now.destination = (meta_.otlp ? "otlp+" : "prometheus+") + parts->place();
  if (letters_ && state_.refused > 0) now.dead_letter = letters_->path();
  for (const Range& range : ranges_) now.waiting += static_cast<int64_t>(range.end - range.begin);
  while (chunks_) {
    const auto points = chunks_->next(ended_, meta_.end);
    if (!points) break;
    now.waiting += static_cast<int64_t>(points->size());
  }
  return now;
}

}  // namespace tacho
