#include "deliver/run_delivery.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/units.h"
#include "deliver/environment.h"
#include "deliver/finish_body.h"
#include "deliver/restore.h"
#include "deliver/statistics.h"
#include "deliver/thin_out.h"
#include "os/environment.h"

namespace tacho {
namespace {

constexpr int64_t kWaitForHost_ns = 3 * kNsPerSec;  // a GPU driver may need a moment
constexpr int64_t kTokenPause_ns = 300 * kNsPerSec;      // also where S3 refuses fresh credentials
constexpr int64_t kOtherPause_ms = 60'000;
constexpr int kMaxOthers = 5;
constexpr int kMaxRegistrations = 3;
constexpr int kMaxRefusalsAtEnd = 2;  // by a bucket, each of credentials that were fetched anew
constexpr int kMaxFailuresAfterEnd = 3;
constexpr int64_t kInlineBytes = 4 * kMiB;
constexpr int64_t kLongestPauseAtEnd_ns = 5 * kNsPerSec;
constexpr int64_t kHeartbeat_ns = 60 * kNsPerSec;

}  // namespace

RunDelivery::RunDelivery(SpoolRun run, Role role, Delivering& shared)
    : run_(std::move(run)), role_(role), shared_(shared), uploader_(shared.http), random_(std::random_device{}()), born_ns_(now_ns()) {
  heartbeat_path_ = environment_or("TACHO_SENTINEL_HEARTBEAT_PATH");
}

Status RunDelivery::load() {
  const auto text = run_.meta();
  if (!text) return text.error();
  auto meta = parse_meta(*text);
  if (!meta) return meta.error();
  meta_ = std::move(*meta);
  if (loaded_) return ok();
  // The token goes where our own settings say, whatever a file in the spool names.
  if (meta_.bucket_uri.empty() && meta_.api_url != service_url())
    return Error{Code::invalid, "the run belongs to another service", meta_.api_url, "set SENTINEL_API_URL to send it there"};
  loaded_ = true;
  if (const auto state = run_.state()) state_ = parse_spool_state(*state);
  api_.emplace(shared_.http, service_url(), shared_.token);
  return ok();
}

void RunDelivery::owner_ended(int64_t deadline_ns) {
  ended_ = true;
  deadline_ns_ = deadline_ns;
  const int64_t now = now_ns();
  // Half of the time is for S3; the rest must be enough to send everything inline.
  upload_deadline_ns_ = deadline_ns > 0 ? now + (deadline_ns - now) / 2 : 0;
  // Back-off of our own begins anew; what a server asked for holds.
  api_backoff_.reset();
  s3_backoff_.reset();
  api_next_ns_ = std::max(std::min(api_next_ns_, now), api_not_before_ns_);
  s3_next_ns_ = std::max(std::min(s3_next_ns_, now), s3_not_before_ns_);
}

// What is open is sealed when nobody writes any more. Without that the run must not be closed: rows would be missing.
Status RunDelivery::recover() {
  if (recovered_) return ok();
  std::vector<Torn> cut;
  Status status = run_.recover(cut);
  if (status) status = run_.check_segments();
  for (const Torn& torn : cut)
    shared_.reporter.must("cut off " + std::to_string(torn.bytes) + " bytes of a row that was not written completely: " + torn.path);
  recovered_ = static_cast<bool>(status);
  return status;
}

Step RunDelivery::wait_until(int64_t wake_ns) const {
  if (ended_) wake_ns = std::min(wake_ns, now_ns() + kLongestPauseAtEnd_ns);
  if (deadline_ns_ > 0) wake_ns = std::min(wake_ns, deadline_ns_);
  return {Step::Kind::wait, wake_ns};
}

Step RunDelivery::left(std::string reason) {
  reason_ = std::move(reason);
  if (ended_ && loaded_ && role_ == Role::beside) describe_what_is_left();
  return {Step::Kind::left, 0};
}

Step RunDelivery::give_up(const std::string& why) {
  shared_.reporter.warn("given up", why + "; the rows are kept");
  return left(why);
}

// Nobody else writes any more: whoever finds the folder reads in one file how far it got. What counts stays in the state.
void RunDelivery::describe_what_is_left() {
  const auto text = run_.meta();
  if (!text) return;
  std::vector<uint32_t> sealed;
  for (const Segment& segment : segments()) sealed.push_back(segment.seal.number);
  const std::string described = meta_with_state(*text, state_, sealed);
  if (described.empty() || described == *text) return;
  if (const Status status = run_.write_meta(described); !status) shared_.reporter.warn("left", status.error().message());
}

std::vector<Segment> RunDelivery::segments() {
  std::vector<Segment> all = run_.sealed();
  std::erase_if(all, [](const Segment& segment) { return segment.seal.rows == 0; });
  return all;
}

bool RunDelivery::save() {
  const Status status = run_.write_state(state_json(state_));
  if (status) return unsaved_ = 0, true;
  reason_ = std::string("cannot write the state of the delivery: ") + status.error().message();
  if (++unsaved_ == 1) shared_.reporter.must(reason_);
  return false;
}

bool RunDelivery::s3_is_possible() const {
  return !state_.prefix.empty() && now_ns() >= s3_blocked_until_ns_;
}

// A short run needs no objects; nor does one whose rows cannot all become objects.
bool RunDelivery::prefers_inline(const std::vector<Segment>& all) const {
  if (inline_refused_) return false;
  if (!s3_is_possible()) return true;
  if (state_.uploaded.empty() && !had_objects_ && count_bytes(all) <= kInlineBytes) return true;
  if (failures_after_end_ >= kMaxFailuresAfterEnd || unsaved_ >= kMaxFailuresAfterEnd) return true;
  return upload_deadline_ns_ > 0 && std::max(now_ns(), s3_not_before_ns_) >= upload_deadline_ns_;
}

Step RunDelivery::step() {
  if (ended_)
    if (const Status status = recover(); !status) return give_up(status.error().message());
  if (const Status status = load(); !status) {
    // Killed before the description was written: there can be no row either.
    const bool empty = status.error().code == Code::not_available && run_.sealed().empty();
    if (ended_ && empty && !loaded_) return remove_delivered(run_, shared_.reporter), Step{Step::Kind::done, 0};
    if (ended_ && empty) shared_.reporter.must("somebody removed " + run_.folder() + "; rows that were not sent before are in the run store only");
    if (ended_) return left(status.error().message());
    return wait_until(now_ns() + kNsPerSec);
  }
  if (state_.finished) return remove_delivered(run_, shared_.reporter), Step{Step::Kind::done, 0};
  if (ended_) bring_back();
  if (deadline_ns_ > 0 && now_ns() >= deadline_ns_) return left(reason_.empty() ? "the time for it is over" : reason_);
  // Before anything else, because memory must stay bounded also where nothing can be reached.
  if (const int64_t gone = thin_out(run_, [&](uint32_t number) { return state_.uploaded.contains(number); }); gone > 0)
    shared_.reporter.must("the spool in memory is full: " + std::to_string(gone) +
                          " of the oldest rows were merged into their neighbours; totals and peaks stay true");
  // The service wants to be left alone for longer than anybody waits here.
  if (deadline_ns_ > 0 && api_not_before_ns_ >= deadline_ns_) return left(reason_);
  if (!meta_.bucket_uri.empty()) return upload_to_bucket();
  if (shared_.token.empty()) return left("there is no token; set SENTINEL_API_TOKEN");
  const int64_t now = now_ns();
  if (state_.run_id.empty()) {
    if (!ended_ && !meta_.host_known && now < born_ns_ + kWaitForHost_ns) return wait_until(born_ns_ + kWaitForHost_ns);
    return now < api_next_ns_ ? wait_until(api_next_ns_) : register_run();
  }
  const std::vector<Segment> all = segments();
  const bool closing = ended_ || meta_.outcome;
  const auto next = std::find_if(all.begin(), all.end(), [&](const Segment& segment) { return !state_.uploaded.contains(segment.seal.number); });
  const bool wants_objects = closing ? !prefers_inline(all) : s3_is_possible();
  if (next != all.end() && wants_objects) {
    const bool stale = !uploader_.has_credentials() || must_refresh_ || now >= uploader_.refresh_at_ns();
    const bool usable = uploader_.has_credentials() && !must_refresh_ && now < uploader_.expire_at_ns();
    if (stale && now >= api_next_ns_) return refresh();
    if (usable && now >= s3_next_ns_) return upload(*next);
    return wait_until(usable ? s3_next_ns_ : api_next_ns_);
  }
  if (ended_) return now < api_next_ns_ ? wait_until(api_next_ns_) : close();
  return idle();
}

Step RunDelivery::register_run() {
  Json body = meta_.start;
  if (shared_.add_cloud) shared_.add_cloud(body, meta_);
  if (deadline_ns_ > 0) api_->set_limit_ms(std::max<int64_t>(1, (deadline_ns_ - now_ns()) / kNsPerMs));
  Registration registration;
  CallResult result = api_->start(body, registration);
  // There is no run yet that could be unknown or finished.
  if (result.what == ErrorClass::gone || result.what == ErrorClass::conflict || result.what == ErrorClass::oversize) result.what = ErrorClass::other;
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

void RunDelivery::tell_of_fields(const CallResult& result) {
  for (const std::string& field : result.renamed)
    if (std::find(result.dropped.begin(), result.dropped.end(), field) == result.dropped.end())
      shared_.reporter.warn("field " + field, "the service does not take the field " + field + " as it was; it is sent in its other form");
  for (const std::string& field : result.dropped)
    shared_.reporter.warn("field " + field, "the service does not take the field " + field + "; it is left out");
}

void RunDelivery::take_prefix(const Registration& registration) {
  uploader_.note_server_date(api_->date());
  uploader_.take(registration.credentials, api_->server_now_ns(), now_ns(), false);
  must_refresh_ = false;
  if (registration.prefix.empty() || !registration.credentials) return;
  const auto location = parse_s3_uri(registration.prefix);
  if (location && !location->key.empty()) {
    state_.prefix = registration.prefix;
    return;
  }
  shared_.reporter.warn("prefix", "the service named no usable place for objects (a bucket and a prefix are needed); "
                                  "all rows are sent at the end instead");
}

Step RunDelivery::refresh() {
  std::optional<AwsCredentials> fresh;
  const CallResult result = api_->refresh(state_.run_id, fresh);
  if (result.what == ErrorClass::none) {
    uploader_.note_server_date(api_->date());
    uploader_.take(std::move(fresh), api_->server_now_ns(), now_ns(), true);
    must_refresh_ = false;
    api_backoff_.reset();
    others_ = 0;
    return wait_until(now_ns());
  }
  if (result.what == ErrorClass::conflict) return must_refresh_ = false, s3_blocked_until_ns_ = now_ns() + kTokenPause_ns, wait_until(now_ns());
  const Step step = failed(result, "the credentials for uploads cannot be renewed yet");
  // Old ones that are still good do not wait for others.
  const bool usable = uploader_.has_credentials() && !must_refresh_ && now_ns() < uploader_.expire_at_ns();
  return step.kind == Step::Kind::wait && usable ? wait_until(now_ns()) : step;
}

// A segment whose checksum is wrong: the run store may have the same rows; else what is whole of them is kept.
Status RunDelivery::mend(const Segment& segment, const Error& damage) {
  if (restore_segment(run_, segment, meta_.store_folder)) {
    shared_.reporter.must("a spool segment was damaged, its checksum was wrong; its rows were taken from the run store: " + segment.path);
    return ok();
  }
  shared_.reporter.must(damage.message());
  const auto torn = run_.repair(segment);
  return torn ? ok() : Status(torn.error());
}

// Segments whose files somebody removed in mid-run, once. One that was uploaded counts anyway.
void RunDelivery::bring_back() {
  if (std::exchange(brought_back_, true)) return;
  for (const Segment& segment : run_.missing()) {
    if (restore_segment(run_, segment, meta_.store_folder) || state_.uploaded.contains(segment.seal.number)) continue;
    shared_.reporter.must("a batch of " + std::to_string(segment.seal.rows) + " rows is missing in the spool, and the run store does not have it: " +
                          segment.path);
  }
}

Step RunDelivery::upload(const Segment& segment) {
  auto bytes = packed(run_, segment);
  if (!bytes) {
    if (const Status mended = mend(segment, bytes.error()); !mended) return give_up(mended.error().message());
    return wait_until(now_ns());
  }
  const std::string uri = object_uri(state_.prefix, state_.run_id, segment.seal.number);
  uploading_ = true;
  const S3Result result = uploader_.put(uri, std::move(*bytes));
  uploading_ = false;
  if (result.verdict != Verdict::done) return refused_by_s3(result);
  if (unsaved_ == 0) s3_backoff_.reset();
  refusals_ = 0;
  told_outage_ = false;
  state_.uploaded[segment.seal.number] = uri;
  if (!save()) {
    // Not recorded is not done: it will be put again, the same bytes under the same key.
    state_.uploaded.erase(segment.seal.number);
    s3_next_ns_ = now_ns() + s3_backoff_.next_ms_at_least(1'000, chance()) * kNsPerMs;
  }
  return wait_until(now_ns());
}

Step RunDelivery::refused_by_s3(const S3Result& result) {
  reason_ = result.message;
  const int64_t now = now_ns();
  if (ended_) ++failures_after_end_;
  if (result.verdict == Verdict::retry) {
    if (!told_outage_) shared_.reporter.warn("upload", "a batch cannot be uploaded right now; it is kept and tried again: " + result.message);
    told_outage_ = true;
    s3_next_ns_ = now + s3_backoff_.next_ms(chance(), result.retry_after_ms) * kNsPerMs;
    s3_not_before_ns_ = now + result.retry_after_ms * kNsPerMs;
    return wait_until(ended_ ? now : s3_next_ns_);  // at the end there may be another way
  }
  must_refresh_ = result.status != 0;
  s3_next_ns_ = now;
  if (++refusals_ < 2 && must_refresh_) return wait_until(now);
  // Fresh credentials were refused too, or the settings are wrong: nothing that a quick repeat would change.
  refusals_ = 0;
  s3_blocked_until_ns_ = now + kTokenPause_ns;
  shared_.reporter.warn("refused", "uploads to " + (meta_.bucket_uri.empty() ? state_.prefix : meta_.bucket_uri) +
                                       " are refused: " + result.message + "; the rows are kept and tried again");
  return wait_until(now);
}

Step RunDelivery::upload_to_bucket() {
  const std::vector<Segment> all = segments();
  const auto next = std::find_if(all.begin(), all.end(), [&](const Segment& segment) { return !state_.uploaded.contains(segment.seal.number); });
  if (next == all.end()) {
    if (!ended_) return wait_until(std::numeric_limits<int64_t>::max());
    state_.finished = true;
    if (!save()) return left(reason_);
    record_delivery(meta_, state_, Processing{}, count_rows(all));
    return remove_delivered(run_, shared_.reporter), Step{Step::Kind::done, 0};
  }
  if (now_ns() < s3_next_ns_) return wait_until(s3_next_ns_);
  state_.prefix = meta_.bucket_uri;
  state_.run_id = meta_.run;
  if (!uploader_.has_credentials() || must_refresh_ || now_ns() >= uploader_.refresh_at_ns()) {
    auto found = shared_.bucket_credentials(meta_);
    // Old ones that are still good do until there are others.
    const bool usable = uploader_.has_credentials() && !must_refresh_ && now_ns() < uploader_.expire_at_ns();
    if (!found && !usable) {
      reason_ = found.error().message();
      shared_.reporter.warn("credentials", "no credentials for " + meta_.bucket_uri + ": " + reason_ + "; the rows are kept");
      // The set-up is wrong, and nobody corrects it while this one waits.
      if (ended_ && found.error().code == Code::invalid) return left(reason_);
      s3_next_ns_ = now_ns() + s3_backoff_.next_ms(chance()) * kNsPerMs;
      return wait_until(s3_next_ns_);
    }
    if (found) {
      uploader_.take(std::move(*found), uploader_.server_now_ns(), now_ns(), true);
      must_refresh_ = false;
    }
  }
  const Step step = upload(*next);
  if (ended_ && unsaved_ >= kMaxFailuresAfterEnd) return left(reason_);
  // There is no other way than the bucket: what is refused is asked again, more and more rarely.
  if (s3_blocked_until_ns_ > 0) {
    s3_blocked_until_ns_ = 0;
    s3_next_ns_ = now_ns() + s3_backoff_.next_ms_at_least(ended_ ? 1'000 : kOtherPause_ms, chance()) * kNsPerMs;
    const bool settings_are_wrong = !must_refresh_;  // there was no answer to judge
    return ended_ && (settings_are_wrong || ++others_ >= kMaxRefusalsAtEnd) ? left(reason_) : wait_until(s3_next_ns_);
  }
  return step;
}

Step RunDelivery::close() {
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
  if (inline_refused_) return give_up("the service takes no run of this size in one piece, and uploads do not work: " + reason_);
  CsvSource csv(run_, meta_.header, all);
  if (!csv.check()) {
    for (const Segment& segment : all)
      if (const Status whole = run_.read_pieces(segment, [](std::string_view) {}); !whole)
        if (const Status mended = mend(segment, whole.error()); !mended) return give_up(mended.error().message());
    return wait_until(now_ns());
  }
  return finish_with(std::move(body), &csv, count_rows(all));
}

Step RunDelivery::finish_with(Json body, CsvSource* csv, int64_t rows) {
  Processing processing;
  const CallResult result = api_->finish(state_.run_id, std::move(body), csv, processing);
  tell_of_fields(result);
  if (result.what == ErrorClass::none || result.what == ErrorClass::conflict) return finished(processing, rows);
  if (result.what == ErrorClass::oversize && !inline_refused_) {
    inline_refused_ = true;
    failures_after_end_ = 0;
    upload_deadline_ns_ = deadline_ns_;
    if (state_.prefix.empty()) return give_up("the service takes no run of this size in one piece, and names no place for objects");
    return wait_until(now_ns());
  }
  return failed(result, "the run cannot be closed yet");
}

Step RunDelivery::finished(const Processing& processing, int64_t rows) {
  if (processing.rows && *processing.rows < rows)
    shared_.reporter.warn("rows", "the service counted " + std::to_string(*processing.rows) + " rows of the " + std::to_string(rows) + " that were sent");
  if (!processing.error.empty()) shared_.reporter.warn("processing", "the service could not evaluate the run: " + processing.error);
  state_.finished = true;
  save();
  record_delivery(meta_, state_, processing, rows);
  remove_delivered(run_, shared_.reporter);
  return {Step::Kind::done, 0};
}

Step RunDelivery::idle() {
  const int64_t now = now_ns();
  int64_t wake_ns = std::numeric_limits<int64_t>::max();
  if (s3_blocked_until_ns_ > now) wake_ns = s3_blocked_until_ns_;
  if (!state_.prefix.empty() && uploader_.has_credentials()) {
    // Also without a batch that is due: it is the run's sign of life.
    const int64_t at_ns = std::max(uploader_.renew_idle_at_ns(), api_next_ns_);
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

Step RunDelivery::failed(const CallResult& result, const char* what) {
  reason_ = result.text;
  const int64_t now = now_ns();
  const std::string text = std::string(what) + ": " + result.text;
  if (result.refused) {
    shared_.reporter.warn("refused call", text + "; the rows are kept");
    api_next_ns_ = now + kTokenPause_ns;
    return ended_ ? left(reason_) : wait_until(api_next_ns_);
  }
  switch (result.what) {
    case ErrorClass::temporary:
      if (!told_outage_) shared_.reporter.warn("outage", text + "; the rows are kept and it is tried again");
      told_outage_ = true;
      api_next_ns_ = now + api_backoff_.next_ms(chance(), result.retry_after_ms) * kNsPerMs;
      api_not_before_ns_ = now + result.retry_after_ms * kNsPerMs;
      if (deadline_ns_ > 0 && api_not_before_ns_ >= deadline_ns_) return left(reason_);
      break;
    case ErrorClass::token:
      shared_.reporter.warn("token", "the service does not accept the token (" + result.text + "); the rows are kept. Check SENTINEL_API_TOKEN");
      api_next_ns_ = now + kTokenPause_ns;
      if (ended_) return left(reason_);
      break;
    case ErrorClass::gone: return gone();
    default:
      shared_.reporter.warn("other", text + "; the rows are kept");
      if (++others_ > kMaxOthers || ended_) return left(reason_);
      api_next_ns_ = now + api_backoff_.next_ms_at_least(kOtherPause_ms, chance(), result.retry_after_ms) * kNsPerMs;
  }
  return wait_until(api_next_ns_);
}

// The service does not know the run: a new one gets everything. A run that somebody else left may belong to another account.
Step RunDelivery::gone() {
  if (role_ != Role::beside && role_ != Role::named) return left("the service does not know this run; name it to send it as a new one");
  if (registrations_ >= kMaxRegistrations) return give_up("the service forgets the run again and again");
  shared_.reporter.warn("gone", "the service does not know the run any more; it is sent again as a new one");
  had_objects_ = had_objects_ || !state_.uploaded.empty();
  state_ = SpoolState{};
  uploader_.take(std::nullopt, 0, 0, false);
  return wait_until(now_ns());
}

}  // namespace tacho
