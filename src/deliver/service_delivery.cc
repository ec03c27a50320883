#include "deliver/service_delivery.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/chance.h"
#include "base/text.h"
#include "base/units.h"
#include "deliver/finish_body.h"
#include "deliver/statistics.h"
#include "os/environment.h"
#include "spool/contract.h"

namespace tacho {
namespace {

constexpr int64_t kWaitForHost_ns = 3 * kNsPerSec;  // a GPU driver may need a moment
constexpr int kMaxOthers = 5;
constexpr int kMaxRegistrations = 3;
constexpr int64_t kInlineBytes = 4 * kMiB;
constexpr int64_t kHeartbeat_ns = 60 * kNsPerSec;

}  // namespace

std::string service_is_elsewhere(const SpoolMeta& meta) {
  if (meta.api_url == service_url()) return {};
  return valid_utf8(meta.api_url) + " and is left alone (set SENTINEL_API_URL to send it)";
}

ServiceDelivery::ServiceDelivery(SpoolRun run, Role role, Delivering& shared)
    : CsvDelivery(std::move(run), role, shared), born_ns_(now_ns()) {
  heartbeat_path_ = environment_or("TACHO_SENTINEL_HEARTBEAT_PATH");
}

// The token goes where our own settings say, whatever a file in the spool names.
Status ServiceDelivery::opened() {
  if (meta_.api_url != service_url())
    return Error{Code::invalid, "the run belongs to another service", meta_.api_url,
                 "set SENTINEL_API_URL to send it there"};
  api_.emplace(shared_.http, service_url(), shared_.token);
  return ok();
}

bool ServiceDelivery::sends_too(const SpoolMeta& leftover) const {
  return is_loaded() && leftover.kind == kServiceKind && leftover.api_url == meta_.api_url;
}

void ServiceDelivery::finish(int64_t deadline_ns) {
  CsvDelivery::finish(deadline_ns);
  api_backoff_.reset();
  api_next_ns_ = std::max(std::min(api_next_ns_, now_ns()), api_not_before_ns_);
}

bool ServiceDelivery::s3_is_possible() const { return !state_.prefix.empty() && now_ns() >= s3_blocked_until_ns_; }

// A short run needs no objects; nor does one whose rows cannot all become objects.
bool ServiceDelivery::prefers_inline(const std::vector<Segment>& all) const {
  if (inline_refused_) return false;
  if (!s3_is_possible()) return true;
  if (state_.uploaded.empty() && !had_objects_ && count_bytes(all) <= kInlineBytes) return true;
  if (failures_after_end_ >= kMaxFailuresAfterEnd || unsaved_ >= kMaxFailuresAfterEnd) return true;
  return upload_deadline_ns_ > 0 && std::max(now_ns(), s3_not_before_ns_) >= upload_deadline_ns_;
}

Step ServiceDelivery::work() {
  // The service wants to be left alone for longer than anybody waits here.
  if (deadline_ns_ > 0 && api_not_before_ns_ >= deadline_ns_) return left(reason_);
  if (shared_.token.empty()) return left("there is no token; set SENTINEL_API_TOKEN");
  const int64_t now = now_ns();
  if (state_.run_id.empty()) {
    if (!ended_ && !meta_.host_known && now < born_ns_ + kWaitForHost_ns) return wait_until(born_ns_ + kWaitForHost_ns);
    return now < api_next_ns_ ? wait_until(api_next_ns_) : register_run();
  }
  const std::vector<Segment> all = segments();
  const bool closing = ended_ || meta_.outcome;
  const Segment* next = next_of(all);
  const bool wants_objects = closing ? !prefers_inline(all) : s3_is_possible();
  if (next != nullptr && wants_objects) {
    const bool usable = credentials_usable();
    if ((!usable || is_renewal_due()) && now >= api_next_ns_) return refresh();
    if (usable && now >= s3_next_ns_) return upload(*next);
    return wait_until(usable ? s3_next_ns_ : api_next_ns_);
  }
  if (ended_) return now < api_next_ns_ ? wait_until(api_next_ns_) : close();
  return idle();
}

Step ServiceDelivery::register_run() {
  Json body = meta_.start;
  if (shared_.add_cloud) shared_.add_cloud(body, meta_);
  if (deadline_ns_ > 0) api_->set_limit_ms(std::max<int64_t>(1, (deadline_ns_ - now_ns()) / kNsPerMs));
  Registration registration;
  CallResult result = api_->start(body, registration);
  // There is no run yet that could be unknown or finished.
  if (result.what == ErrorClass::gone || result.what == ErrorClass::conflict || result.what == ErrorClass::oversize)
    result.what = ErrorClass::other;
  if (result.what != ErrorClass::none) return failed(result, "the run cannot be registered yet");
  tell_of_fields(result);
  api_backoff_.reset();
  others_ = 0;
  told_outage_ = false;
  ++registrations_;
  state_ = SpoolState{};
  state_.run_id = registration.run_id;
  take_prefix(registration);
  save();
  return wait_until(now_ns());
}

void ServiceDelivery::tell_of_fields(const CallResult& result) {
  for (const std::string& field : result.renamed)
    if (std::find(result.dropped.begin(), result.dropped.end(), field) == result.dropped.end())
      shared_.notices.warn("field " + field,
                           "the service does not take the field " + field + " as it was; it is sent in its other form");
  for (const std::string& field : result.dropped)
    shared_.notices.warn("field " + field, "the service does not take the field " + field + "; it is left out");
}

void ServiceDelivery::take_prefix(const Registration& registration) {
  uploader_.note_server_date(api_->date());
  uploader_.take(registration.credentials, api_->server_now_ns(), now_ns(), false);
  must_refresh_ = false;
  if (registration.prefix.empty() || !registration.credentials) return;
  const auto location = parse_s3_uri(registration.prefix);
  if (location && !location->key.empty()) {
    state_.prefix = registration.prefix;
    return;
  }
  shared_.notices.warn("prefix",
                       "the service named no usable place for objects (a bucket and a prefix are needed); "
                       "all rows are sent at the end instead");
}

Step ServiceDelivery::refresh() {
  std::optional<AwsCredentials> fresh;
  CallResult result;
  renew([&] { result = api_->refresh(state_.run_id, fresh); });
  if (result.what == ErrorClass::none) {
    uploader_.note_server_date(api_->date());
    uploader_.take(std::move(fresh), api_->server_now_ns(), now_ns(), true);
    must_refresh_ = false;
    api_backoff_.reset();
    renewal_backoff_.reset();
    others_ = 0;
    return wait_until(now_ns());
  }
  if (result.what == ErrorClass::gone) return gone();
  if (credentials_usable()) return not_renewed(result);
  if (result.what == ErrorClass::conflict)
    return must_refresh_ = false, s3_blocked_until_ns_ = now_ns() + kRefusedPause_ns, wait_until(now_ns());
  return failed(result, "the credentials for uploads cannot be renewed yet");
}

// Neither uploads nor the end of the run wait for new ones, whatever the service says of them.
Step ServiceDelivery::not_renewed(const CallResult& result) {
  shared_.notices.warn("renewal", "the credentials for uploads cannot be renewed yet: " + result.text +
                                      "; the old ones are used while they are valid");
  const int64_t least_ms = result.what == ErrorClass::temporary && !result.refused ? 0 : kOtherPause_ms;
  keep_old_credentials(renewal_backoff_.next_ms_at_least(least_ms, chance(), result.retry_after_ms));
  return wait_until(now_ns());
}

Step ServiceDelivery::close() {
  if (deadline_ns_ > 0) api_->set_limit_ms(std::max<int64_t>(1, (deadline_ns_ - now_ns()) / kNsPerMs));
  const std::vector<Segment> all = segments();
  Json body = finish_body(meta_, meta_.outcome ? std::string() : last_row_of(run_, all));
  const bool all_uploaded = !all.empty() && std::all_of(all.begin(), all.end(), [&](const Segment& segment) {
    return state_.uploaded.contains(segment.seal.number);
  });
  if (all_uploaded) {
    add_uris(body, state_);
    return finish_with(std::move(body), nullptr, count_rows(all));
  }
  if (inline_refused_)
    return give_up("the service takes no run of this size in one piece, and uploads do not work: " + reason_);
  CsvSource csv(run_, meta_.header.empty() ? header_of(run_, all) : meta_.header, all);
  if (!csv.check()) {
    for (const Segment& segment : all)
      if (const Status whole = run_.read_pieces(segment, [](std::string_view) {}); !whole)
        if (const Status mended = mend(segment, whole.error()); !mended) return give_up(mended.error().message());
    return wait_until(now_ns());
  }
  return finish_with(std::move(body), &csv, count_rows(all));
}

Step ServiceDelivery::finish_with(Json body, CsvSource* csv, int64_t rows) {
  Processing processing;
  const CallResult result = api_->finish(state_.run_id, std::move(body), csv, processing);
  tell_of_fields(result);
  if (result.what == ErrorClass::none || result.what == ErrorClass::conflict) return finished(processing, rows);
  if (result.what == ErrorClass::oversize && !inline_refused_) {
    inline_refused_ = true;
    failures_after_end_ = 0;
    upload_deadline_ns_ = deadline_ns_;
    if (state_.prefix.empty())
      return give_up("the service takes no run of this size in one piece, and names no place for objects");
    return wait_until(now_ns());
  }
  return failed(result, "the run cannot be closed yet");
}

Step ServiceDelivery::finished(const Processing& processing, int64_t rows) {
  if (processing.rows && *processing.rows < rows)
    shared_.notices.warn("rows", "the service counted " + std::to_string(*processing.rows) + " rows of the " +
                                     std::to_string(rows) + " that were sent");
  if (!processing.error.empty())
    shared_.notices.warn("processing", "the service could not evaluate the run: " + processing.error);
  state_.finished = true;
  save();
  record_delivery(meta_, state_, processing, rows);
  return removed();
}

Step ServiceDelivery::idle() {
  const int64_t now = now_ns();
  int64_t wake_ns = std::numeric_limits<int64_t>::max();
  if (s3_blocked_until_ns_ > now) wake_ns = s3_blocked_until_ns_;
  if (!state_.prefix.empty() && uploader_.has_credentials()) {
    // Also without a batch that is due: it is the run's sign of life.
    const int64_t at_ns = std::max({uploader_.renew_idle_at_ns(), api_next_ns_, renewal_next_ns_});
    if (at_ns <= now) return refresh();
    wake_ns = std::min(wake_ns, at_ns);
  }
  if (heartbeat_path_.empty()) return wait_until(wake_ns);
  if (heartbeat_next_ns_ == 0) heartbeat_next_ns_ = now + kHeartbeat_ns;
  if (now >= heartbeat_next_ns_) {
    if (!api_->heartbeat(heartbeat_path_, state_.run_id)) heartbeat_path_.clear();
    heartbeat_next_ns_ = now_ns() + static_cast<int64_t>(static_cast<double>(kHeartbeat_ns) * (0.9 + 0.2 * chance()));
  }
  return wait_until(std::min(wake_ns, heartbeat_next_ns_));
}

Step ServiceDelivery::failed(const CallResult& result, const char* what) {
  reason_ = result.text;
  const int64_t now = now_ns();
  const std::string text = std::string(what) + ": " + result.text;
  if (result.refused) {
    shared_.notices.warn("refused call", text + "; the rows are kept");
    api_next_ns_ = now + kRefusedPause_ns;
    return ended_ ? left(reason_) : wait_until(api_next_ns_);
  }
  switch (result.what) {
    case ErrorClass::temporary:
      if (!told_outage_) shared_.notices.warn("outage", text + "; the rows are kept and it is tried again");
      told_outage_ = true;
      api_next_ns_ = now + api_backoff_.next_ms(chance(), result.retry_after_ms) * kNsPerMs;
      api_not_before_ns_ = now + result.retry_after_ms * kNsPerMs;
      if (deadline_ns_ > 0 && api_not_before_ns_ >= deadline_ns_) return left(reason_);
      break;
    case ErrorClass::token:
      shared_.notices.warn("token", "the service does not accept the token (" + result.text +
                                        "); the rows are kept. Check SENTINEL_API_TOKEN");
      api_next_ns_ = now + kRefusedPause_ns;
      if (ended_) return left(reason_);
      break;
    case ErrorClass::gone: return gone();
    default:
      shared_.notices.warn("other", text + "; the rows are kept");
      if (++others_ > kMaxOthers || ended_) return left(reason_);
      api_next_ns_ = now + api_backoff_.next_ms_at_least(kOtherPause_ms, chance(), result.retry_after_ms) * kNsPerMs;
  }
  return wait_until(api_next_ns_);
}

// The service does not know the run: a new one gets everything. A run that somebody else left may belong to another
// account.
Step ServiceDelivery::gone() {
  if (role_ != Role::beside && role_ != Role::named)
    return left("the service does not know this run; name it to send it as a new one");
  if (registrations_ >= kMaxRegistrations) return give_up("the service forgets the run again and again");
  shared_.notices.warn("gone", "the service does not know the run any more; it is sent again as a new one");
  had_objects_ = had_objects_ || !state_.uploaded.empty();
  state_ = SpoolState{};
  uploader_.take(std::nullopt, 0, 0, false);
  return wait_until(now_ns());
}

}  // namespace tacho
