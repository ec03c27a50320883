#include "deliver/csv_delivery.h"

#include <algorithm>
#include <utility>

#include "base/chance.h"
#include "base/units.h"
#include "deliver/restore.h"

namespace tacho {
namespace {

constexpr int64_t kLongestCsvPauseAtEnd_ns = 5 * kNsPerSec;
constexpr int64_t kRenewalAhead_ns = 5 * kNsPerSec;

}  // namespace

CsvDelivery::CsvDelivery(SpoolRun run, Role role, Delivering& shared)
    : SpooledDelivery(std::move(run), role, shared, kSealedEnding, kLongestCsvPauseAtEnd_ns), uploader_(shared.http) {}

Status CsvDelivery::load() {
  const auto text = run_.meta();
  if (!text) return text.error();
  auto meta = parse_meta(*text);
  if (!meta) return meta.error();
  meta_ = std::move(*meta);
  if (loaded_) return ok();
  if (const Status ours = opened(); !ours) return ours;
  auto state = read_state(parse_spool_state);
  if (!state) return state.error();
  state_ = std::move(*state);
  loaded_ = true;
  return ok();
}

void CsvDelivery::finish(int64_t deadline_ns) {
  SpooledDelivery::finish(deadline_ns);
  const int64_t now = now_ns();
  // Half of the time is for S3; the rest must be enough to send everything inline.
  upload_deadline_ns_ = deadline_ns > 0 ? now + (deadline_ns - now) / 2 : 0;
  // Back-off of our own begins anew; what a server asked for holds.
  s3_backoff_.reset();
  s3_next_ns_ = std::max(std::min(s3_next_ns_, now), s3_not_before_ns_);
}

Step CsvDelivery::proceed() {
  if (ended_)
    if (const Status status = check(); !status) return give_up(status.error().message());
  if (const Status status = load(); !status) return undescribed(status.error());
  if (state_.finished) return removed();
  if (ended_) bring_back();
  if (is_late()) return left_late();
  bound_memory([this](uint32_t number) { return state_.uploaded.contains(number); });
  return work();
}

// The description is gone, or cannot be read: somebody may put it back while the run goes on.
Step CsvDelivery::undescribed(const Error& error) {
  if (!ended_) return wait_until(now_ns() + kNsPerSec);
  if (error.code == Code::not_available && run_.sealed().empty())
    shared_.notices.must("somebody removed " + run_.folder() +
                         "; rows that were not sent before are in the run store only");
  return left(error.message());
}

void CsvDelivery::renew(const std::function<void()>& ask) {
  int64_t limit_ns = kRenewalAhead_ns;
  if (deadline_ns_ > 0) limit_ns = std::clamp<int64_t>((deadline_ns_ - now_ns()) / 4, kNsPerMs, limit_ns);
  if (credentials_usable()) shared_.http.end_by(system_clock().monotonic_ns() + limit_ns);
  ask();
  shared_.http.end_by(0);
}

const Segment* CsvDelivery::next_of(const std::vector<Segment>& all) const {
  const auto next = std::find_if(
      all.begin(), all.end(), [&](const Segment& segment) { return !state_.uploaded.contains(segment.seal.number); });
  return next == all.end() ? nullptr : &*next;
}

// Something else in the place of a segment is for a person to look at, before the run is closed without its rows.
Status CsvDelivery::check() {
  const Status status = checked_ ? ok() : run_.check_segments(kSealedEnding);
  checked_ = static_cast<bool>(status);
  return status;
}

Step CsvDelivery::left(std::string reason) {
  if (ended_ && loaded_ && role_ == Role::beside) describe_what_is_left();
  return SpooledDelivery::left(std::move(reason));
}

// Nobody else writes any more: whoever finds the folder reads in one file how far it got. What counts stays in the
// state.
void CsvDelivery::describe_what_is_left() {
  const auto text = run_.meta();
  if (!text) return;
  std::vector<uint32_t> sealed;
  for (const Segment& segment : segments()) sealed.push_back(segment.seal.number);
  const std::string described = meta_with_state(*text, state_, sealed);
  if (described.empty() || described == *text) return;
  if (const Status status = run_.write_meta(described); !status) shared_.notices.warn("left", status.error().message());
}

std::vector<Segment> CsvDelivery::segments() {
  std::vector<Segment> all = run_.sealed();
  std::erase_if(all, [](const Segment& segment) { return segment.seal.rows == 0; });
  return all;
}

bool CsvDelivery::save() {
  const Status status = run_.write_state(state_json(state_));
  if (status) return unsaved_ = 0, true;
  reason_ = std::string("cannot write the state of the delivery: ") + status.error().message();
  if (++unsaved_ == 1) shared_.notices.must(reason_);
  return false;
}

// A segment whose checksum is wrong: the run store may have the same rows; else what is whole of them is kept.
Status CsvDelivery::mend(const Segment& segment, const Error& damage) {
  if (restore_segment(run_, segment, meta_.store_folder)) {
    shared_.notices.must(
        "a spool segment was damaged, its checksum was wrong; its rows were taken from the run store: " + segment.path);
    return ok();
  }
  shared_.notices.must(damage.message());
  const auto torn = run_.repair(segment);
  return torn ? ok() : Status(torn.error());
}

// Segments whose files somebody removed in mid-run, once. One that was uploaded counts anyway.
void CsvDelivery::bring_back() {
  if (std::exchange(brought_back_, true)) return;
  for (const Segment& segment : run_.missing()) {
    if (restore_segment(run_, segment, meta_.store_folder) || state_.uploaded.contains(segment.seal.number)) continue;
    shared_.notices.must("a batch of " + std::to_string(segment.seal.rows) +
                         " rows is missing in the spool, and the run store does not have it: " + segment.path);
  }
}

Step CsvDelivery::upload(const Segment& segment) {
  auto bytes = packed(run_, segment);
  if (!bytes) {
    if (const Status mended = mend(segment, bytes.error()); !mended) return give_up(mended.error().message());
    return wait_until(now_ns());
  }
  const std::string uri = object_uri(state_.prefix, state_.run_id, segment.seal.number);
  uploading_ = true;
  const S3Result result = uploader_.put(uri, std::move(*bytes));
  uploading_ = false;
  if (result.verdict != S3Verdict::done) return refused_by_s3(result);
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

Step CsvDelivery::refused_by_s3(const S3Result& result) {
  reason_ = result.message;
  const int64_t now = now_ns();
  if (ended_) ++failures_after_end_;
  if (result.verdict == S3Verdict::retry) {
    if (!told_outage_)
      shared_.notices.warn("upload",
                           "a batch cannot be uploaded right now; it is kept and tried again: " + result.message);
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
  s3_blocked_until_ns_ = now + kRefusedPause_ns;
  shared_.notices.warn("refused", "uploads to " + state_.prefix + " are refused: " + result.message +
                                      "; the rows are kept and tried again");
  return wait_until(now);
}

}  // namespace tacho
