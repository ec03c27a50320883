#include "deliver/metric_lane.h"

#include <algorithm>
#include <utility>

#include "base/chance.h"
#include "base/text.h"
#include "base/units.h"
#include "deliver/compress.h"
#include "deliver/metric_access.h"
#include "net/http/retry.h"
#include "net/metrics/answers.h"
#include "net/metrics/remote_write.h"

namespace tacho {
namespace {

constexpr int64_t kSettingPause_ns = 300 * kNsPerSec, kCutShortPause_ns = 10 * kNsPerMs;
constexpr int kBrokenBeforeProbe = 5;
constexpr size_t kMostSamples = 10'000, kMostBytes = 1u << 20;
constexpr size_t kMostAnswer = size_t{64} << 10;
// Once a receiver has said that it has the samples, nothing in the rest of its answer can change that.
constexpr int64_t kBodyPatience_ms = 2'000;

bool is_otlp_failure(const MetricMeta& meta, int status) { return meta.otlp && status >= 500; }

HttpRequest request_of(const MetricMeta& meta, std::string parts) {
  HttpRequest request;
  request.method = "POST";
  request.url = meta.url;
  request.has_body = true;
  request.accept_gzip = meta.otlp;
  request.redirects = 5;
  request.follows_see_other = false;  // a page that can be read is no receipt
  request.body_limit = kMostAnswer;
  request.body_is_optional_ms = kBodyPatience_ms;
  request.headers.emplace_back("User-Agent", "tacho/" TACHO_VERSION);
  request.headers.emplace_back("Content-Type", meta.json ? "application/json" : "application/x-protobuf");
  if (!meta.otlp) {
    request.headers.emplace_back("Content-Encoding", "snappy");
    request.headers.emplace_back("X-Prometheus-Remote-Write-Version", "0.1.0");
    request.body = snappy_block(parts);
    return request;
  }
  request.body = meta.json ? otlp_json_request(parts) : std::move(parts);
  if (!meta.gzip) return request;
  request.headers.emplace_back("Content-Encoding", "gzip");
  request.body = gzip(request.body);
  return request;
}

}  // namespace

MetricLane::MetricLane(Delivering& shared) : shared_(shared) {}

std::string MetricLane::way_of(const MetricMeta& meta) {
  return std::string(meta.otlp ? "otlp" : "prometheus") + (meta.json ? "+json" : "") + (meta.gzip ? "+gzip" : "") +
         " " + meta.url;
}

void MetricLane::hurry() {
  if (!asked_to_wait_) next_ns_ = 0;
}

void MetricLane::send(const Batch& ready) {
  next_ns_ = 0;
  asked_to_wait_ = false;
  if (batches_.empty()) compose(ready);
  if (!batches_.empty()) judge(post(batches_.front(), batches_.front().front()->meta()));
}

// As many as the protocol takes in one request, but one in any case: alone it is within the limits.
void MetricLane::compose(const Batch& ready) {
  judging_ = false;
  Batch batch;
  size_t samples = 0, bytes = 0;
  for (MetricRun* run : ready) {
    samples += run->points().size();
    bytes += run->part(run->meta().json).size() + 1;
    if (!batch.empty() && (samples > kMostSamples || bytes > kMostBytes)) break;
    batch.push_back(run);
  }
  if (!batch.empty()) batches_.push_back(std::move(batch));
}

// An empty batch: whether the receiver takes anything at all.
MetricLane::Sent MetricLane::post(const Batch& batch, const MetricMeta& meta) {
  Sent sent;
  const auto credentials = metric_credentials(meta.otlp);
  const auto certificate = meta.otlp ? otlp_certificate() : Result<std::string>("");
  if (!credentials || !certificate) {
    sent.words = !credentials ? credentials.error().message() : certificate.error().message();
    sent.is_setting = true;
    return sent;
  }
  std::string parts;
  for (const MetricRun* run : batch) parts += (meta.json && !parts.empty() ? "," : "") + run->part(meta.json);
  HttpRequest request = request_of(meta, std::move(parts));
  request.secret_headers = *credentials;
  request.tls.ca_pem = *certificate;
  const auto answer = shared_.http.send(request);
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
  if (meta.otlp) sent.partial = answer->body;
  // Should be as the request is; some gateways answer JSON to everything.
  const std::string_view type = answer->header("content-type");
  sent.partial_is_json = type.empty() ? meta.json : lower(type).find("json") != std::string::npos;
  return sent;
}

void MetricLane::judge(const Sent& sent) {
  if (sent.cancelled) return void(next_ns_ = shared_.clock.monotonic_ns() + kCutShortPause_ns);
  if (sent.is_setting) return wrong_setting(sent);
  const MetricMeta& meta = batches_.front().front()->meta();
  if (sent.status == 0)
    for (MetricRun* run : batches_.front()) run->unanswered();
  const auto protocol = meta.otlp ? MetricProtocol::otlp : MetricProtocol::remote_write;
  const MetricAnswer answer = classify_metrics(protocol, sent.status);
  if (answer != MetricAnswer::broken) broken_ = 0;
  switch (answer) {
    case MetricAnswer::delivered: delivered(sent); break;
    case MetricAnswer::refused: refused(sent); break;
    case MetricAnswer::too_large: split(sent); break;
    case MetricAnswer::broken: return broken(sent);
    case MetricAnswer::slow_down:
    case MetricAnswer::outage: return pause(sent);
    case MetricAnswer::settings: return wrong_setting(sent);
  }
  backoff_.reset();
  blocked_ = told_outage_ = false;
}

void MetricLane::delivered(const Sent& sent) {
  const MetricMeta& meta = batches_.front().front()->meta();
  int64_t rejected = 0;
  std::string words;
  if (meta.otlp)
    if (const auto partial = parse_partial_success(sent.partial, sent.partial_is_json)) {
      rejected = partial->rejected;
      words = server_words(partial->message);
      if (rejected == 0 && !std::exchange(told_words_, true))
        shared_.notices.warn("otlp", "the receiver says: " + words);
    }
  for (MetricRun* run : batches_.front()) {
    // Whose they were is not told.
    const int64_t share = std::min(rejected, static_cast<int64_t>(run->points().size()));
    rejected -= share;
    run->delivered(share, words);
  }
  drop_decided();
}

// OTLP forbids to repeat what a server failed at, in whatever parts.
void MetricLane::refused(const Sent& sent) {
  Batch& batch = batches_.front();
  const MetricMeta& meta = batch.front()->meta();
  if (!is_otlp_failure(meta, sent.status) && (batch.size() > 1 || !meta.otlp)) return split(sent);
  for (MetricRun* run : batch) run->refused(sent.words);
  drop_decided();
}

void MetricLane::split(const Sent& sent) {
  Batch& batch = batches_.front();
  if (batch.size() > 1) {
    const auto middle = batch.begin() + static_cast<std::ptrdiff_t>(batch.size() / 2);
    Batch first(batch.begin(), middle);
    batch.erase(batch.begin(), middle);
    batches_.push_front(std::move(first));
  } else if (!batch.front()->halve()) {
    batch.front()->refused(sent.words);
    drop_decided();
  }
}

// A run that was taken apart stays until the last of its points is decided.
void MetricLane::drop_decided() {
  std::erase_if(batches_.front(), [](const MetricRun* run) { return !run->has_points(); });
  if (batches_.front().empty()) batches_.pop_front();
}

// The protocol has a server's own fault repeated, but some say so of samples that they will never take.
void MetricLane::broken(const Sent& sent) {
  if (!judging_) {
    if (++broken_ < kBrokenBeforeProbe) return pause(sent);
    broken_ = 0;
    const int probe = post({}, batches_.front().front()->meta()).status;
    if (probe < 200 || probe >= 300) return pause(sent);
    judging_ = true;
  }
  split(sent);
}

void MetricLane::pause(const Sent& sent) {
  held_up(sent, false);
  if (!std::exchange(told_outage_, true))
    shared_.notices.warn(
        "metrics " + batches_.front().front()->place(),
        "metrics wait: " + batches_.front().front()->reason() + "; the samples are kept and sent later");
  const int64_t pause_ms = backoff_.next_ms(chance(), sent.retry_after_ms);
  asked_to_wait_ = sent.retry_after_ms > 0;
  next_ns_ = shared_.clock.monotonic_ns() + (asked_to_wait_ ? sent.retry_after_ms : pause_ms) * kNsPerMs;
}

void MetricLane::wrong_setting(const Sent& sent) {
  held_up(sent, true);
  if (!std::exchange(blocked_, true))
    shared_.notices.warn("setting " + batches_.front().front()->place(),
                         "metrics are not taken, because a setting is wrong: " + batches_.front().front()->reason() +
                             "; look at the address and its credentials. The samples are kept");
  next_ns_ = shared_.clock.monotonic_ns() + kSettingPause_ns;
}

void MetricLane::held_up(const Sent& sent, bool by_setting) {
  for (const Batch& batch : batches_)
    for (MetricRun* run : batch) run->held_up(run->place() + ": " + sent.words, by_setting);
}

}  // namespace tacho
