#include "kube/webhook/webhook.h"

#include <algorithm>
#include <exception>

#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "os/clock.h"

namespace tacho {
namespace {

constexpr size_t kLogged = 200;
constexpr int kLargeRunning = 2, kLargeWaiting = 6;
constexpr const char* kTooLarge =
    "tacho: no metrics collector was added: the object has more values than can be looked at";

ServedResponse plain(int status, std::string text) {
  ServedResponse response;
  response.status = status;
  response.body = std::move(text) + "\n";
  return response;
}

}  // namespace

int64_t query_timeout_ms(std::string_view query) {
  for (const std::string_view part : split(query, '&')) {
    if (!part.starts_with("timeout=")) continue;
    const Result<int64_t> ns = parse_duration_ns(part.substr(8));
    return ns ? *ns / kNsPerMs : 0;
  }
  return 0;
}

// A large review's turn, until its end.
class Webhook::LargeTurn {
 public:
  LargeTurn(Webhook& hook, bool large, int64_t deadline_ns) : hook_(hook) {
    if (!large) return;
    std::unique_lock lock(hook_.large_);
    if (hook_.large_running_ >= kLargeRunning) {
      late_ = hook_.large_waiting_ >= kLargeWaiting;
      if (late_) return;
      ++hook_.large_waiting_;
      bool in_time = true;
      while (in_time && hook_.large_running_ >= kLargeRunning) in_time = hook_.large_.wait_until(deadline_ns);
      --hook_.large_waiting_;
      late_ = hook_.large_running_ >= kLargeRunning;
      if (late_) return;
    }
    ++hook_.large_running_;
    held_ = true;
  }
  ~LargeTurn() {
    if (!held_) return;
    const std::lock_guard lock(hook_.large_);
    --hook_.large_running_;
    hook_.large_.notify_all();
  }
  LargeTurn(const LargeTurn&) = delete;
  LargeTurn& operator=(const LargeTurn&) = delete;
  bool late() const { return late_; }

 private:
  Webhook& hook_;
  bool held_ = false, late_ = false;
};

// Half of what the API server waits: the way back takes its time too. What waits stops a little before, so that the
// answer is there within the limit.
int64_t Webhook::deadline_ns(const ServedRequest& request) const {
  const int64_t timeout_ms = query_timeout_ms(request.query);
  const int64_t limit_ms = timeout_ms > 0 ? std::min(deadline_ms_, timeout_ms / 2) : deadline_ms_;
  return request.received_ns + (limit_ms - limit_ms / 20) * kNsPerMs;
}

// Once, and not more than so many: a cluster of odd Trials must not use up what the log can remember.
void Webhook::log_once(const EventSubject& about, std::string_view text) {
  constexpr std::string_view kName = "tacho: ";  // the log says it, too
  if (text.starts_with(kName)) text.remove_prefix(kName.size());
  std::string line(text);
  if (!about.name.empty()) line += " (" + about.kind + " " + about.ns + "/" + about.name + ")";
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  {
    const std::lock_guard lock(mutex_);
    if (logged_.size() >= kLogged || !logged_.insert(line).second) return;
  }
  log::warn(line);
}

// A dry run leaves no trace: the configuration promises that there are no side effects then.
void Webhook::tell(const Review& review, const ReviewAnswer& answer) {
  for (const std::string& note : answer.notes) log_once(answer.about, note);
  for (const std::string& warning : answer.warnings) log_once(answer.about, warning);
  if (!answer.allowed) log_once(answer.about, answer.message);
  if (events_ == nullptr || review.dry_run) return;
  if (!answer.allowed) events_->tell(answer.about, "Refused", answer.message);
  const char* const reason = answer.patch.empty() ? "NotInjected" : "InjectedWithWarning";
  for (const std::string& warning : answer.warnings) events_->tell(answer.about, reason, warning);
}

// Nobody has time for it: it is not looked at, and whoever made it is told.
ServedResponse Webhook::let_through(WebhookMetrics::Hook hook, const ServedRequest& request) {
  const std::string uid = uid_of(request.body);
  metrics_.count(hook, uid.empty() ? "error" : "warned", system_clock().monotonic_ns() - request.received_ns);
  if (uid.empty()) return plain(400, "the body is no AdmissionReview");
  ReviewAnswer answer;
  answer.warnings.push_back("tacho: no metrics collector was added: too many large objects are made at a time");
  log_once({}, answer.warnings[0]);
  ServedResponse response;
  response.content_type = "application/json";
  response.body = write_answer(uid, answer);
  return response;
}

ServedResponse Webhook::handle(const ServedRequest& request) {
  const bool pod = request.path == "/mutate-pod";
  if (!pod && request.path != "/mutate-job") return plain(404, "there is /mutate-pod and /mutate-job");
  if (request.method != "POST") {
    ServedResponse response = plain(405, "send a POST");
    response.headers.emplace_back("allow", "POST");
    return response;
  }
  const WebhookMetrics::Hook hook = pod ? WebhookMetrics::pod : WebhookMetrics::job;
  const auto elapsed = [&] { return system_clock().monotonic_ns() - request.received_ns; };
  const LargeTurn turn(*this, request.body.size() > kLargeReview, deadline_ns(request));
  if (turn.late()) return let_through(hook, request);
  Result<Review> review = parse_review(request.body);
  if (!review) {
    metrics_.count(hook, "error", elapsed());
    log::warn("a request was refused: " + review.error().what);
    return plain(400, review.error().message());
  }
  ReviewAnswer answer;
  try {
    const int64_t until_ns = deadline_ns(request);
    if (review->too_large) answer.warnings.push_back(kTooLarge), answer.result = "warned";
    else answer = pod ? mutation_.pod(*review, until_ns) : mutation_.job(*review, until_ns);
  } catch (const std::exception& error) {
    // A tree of a shape that nobody thought of: the pod is not ours to refuse.
    answer = ReviewAnswer{};
    answer.warnings.push_back("tacho: no metrics collector was added: the object could not be understood");
    answer.result = "error";
    log::warn(std::string("a review could not be worked on: ") + error.what());
  }
  tell(*review, answer);
  ServedResponse response;
  response.content_type = "application/json";
  response.body = write_answer(review->uid, answer);
  metrics_.count(hook, answer.result, elapsed());
  return response;
}

}  // namespace tacho
