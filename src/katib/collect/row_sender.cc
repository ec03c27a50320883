#include "katib/collect/row_sender.h"

#include <algorithm>

#include "base/log.h"
#include "base/units.h"

namespace tacho {
namespace {

constexpr int64_t kSearchPauseNs = 100 * kNsPerMs;
// An unused connection is kept for longer than the usual pause between reports.
constexpr int64_t kKeepNs = 15 * kNsPerSec;
constexpr int64_t kReadAgainNs = kNsPerSec;
constexpr int kMostReadFailures = 60;

}  // namespace

int64_t ReportPause::next_ns(bool longest) {
  if (longest) pause_ns_.be_longest();
  return static_cast<int64_t>(static_cast<double>(pause_ns_.next()) *
                              std::uniform_real_distribution(0.8, 1.2)(random_));
}

RowSender::RowSender(std::string trial, ShapeRules rules, std::shared_ptr<DbCalls> calls, CollectState& state,
                     StateFile& file)
    : trial_(std::move(trial)), rules_(rules), calls_(std::move(calls)), state_(state), file_(file) {}

void RowSender::add_stream(std::string name, Reader& reader, const ArrivalMarks* marks, bool open) {
  streams_.push_back({std::move(name), &reader, marks, open});
}

RowSender::Stream* RowSender::find(std::string_view name) {
  const auto found =
      std::find_if(streams_.begin(), streams_.end(), [&](const Stream& stream) { return stream.name == name; });
  return found == streams_.end() ? nullptr : &*found;
}

void RowSender::open_stream(std::string_view name) {
  if (Stream* stream = find(name)) stream->open = true;
}

void RowSender::begin_anew(std::string_view name) {
  Stream* stream = find(name);
  if (stream == nullptr) return;
  stream->anew = stream->own_restarts == 0 || delete_wanted_;
  stream->own_restarts = std::max(stream->own_restarts - 1, 0);
}

void RowSender::flush(bool at_end) {
  flushing_ = true;
  if (at_end && !at_end_) {  // now somebody waits for the rows
    settle_ns_ = std::min(settle_ns_, kLongestSettleNs);
    if (in_doubt_ && retry_ns_ != INT64_MAX)
      retry_ns_ = std::min(retry_ns_, std::max<int64_t>(doubt_ns_, 0) + settle_ns_);
  }
  at_end_ = at_end_ || at_end;
}

// Rows of a metric that this collector knows nothing of: an earlier one, whose state is gone, may have reported the
// same. True: it is being asked.
bool RowSender::look_first(int64_t now_ns) {
  std::vector<std::string> unknown;
  if (in_doubt_) return false;
  for (size_t number = 0; number < chunk_->names().size(); ++number) {
    const std::string& name = chunk_->names()[number];
    if (chunk_->rows_of_name(number) > 0 && !state_.digests.contains(name)) unknown.push_back(name);
  }
  if (unknown.empty()) return false;
  result_ = std::make_shared<ReportResult>();
  looked_ = std::make_shared<RowDigests>();
  looking_ = worker_.start([calls = calls_, trial = trial_, names = std::move(unknown), result = result_,
                            out = looked_] { result->status = look_before(*calls, trial, names, *out); });
  retry_ns_ = looking_ ? INT64_MAX : now_ns + pause_.next_ns(false);
  return true;
}

void RowSender::take_look() {
  looking_ = false;
  if (last_status_.ok()) state_.digests.merge(*looked_);
  looked_.reset();
}

void RowSender::send(int64_t now_ns) {
  if (look_first(now_ns)) return;
  const PendingChunk& pending = *state_.pending;
  const size_t count = part_ = next_part();
  if (write_down(count)) file_.save(state_);
  result_ = std::make_shared<ReportResult>();
  ReportCall call;
  call.trial = trial_;
  call.rows = chunk_;
  call.first = first_row();
  call.count = count;
  call.id = pending.id + "-" + std::to_string(call.first) + "-" + std::to_string(count);
  // What was refused may have been stored after all, by an answer that went wrong behind the service.
  call.in_doubt = in_doubt_ || second_look();
  if (call.in_doubt) {
    if (doubt_ns_ < 0) doubt_ns_ = now_ns;
    call.may_send =
        !halve_if_missing_ && (!in_doubt_ || hurried_ || calls_->knows_ids() || now_ns >= doubt_ns_ + settle_ns_);
    call.before = state_.digests;
  }
  const bool started =
      worker_.start([calls = calls_, call = std::move(call), result = result_] { *result = perform(*calls, call); });
  retry_ns_ = started ? INT64_MAX : now_ns + pause_.next_ns(false);
}

// Whether the state has to say anew which rows may be stored from now on.
bool RowSender::write_down(size_t count) {
  PendingChunk& pending = *state_.pending;
  const bool smooth = calls_->knows_ids() && failures_ == 0 && poison_limit_ == 0 && !in_doubt_ && !second_look();
  const auto done = static_cast<size_t>(pending.done);
  const auto rest =
      static_cast<int64_t>(smooth ? chunk_->size() - done : std::max(count, doubt_end_ - std::min(done, doubt_end_)));
  if (smooth && pending.sending == rest) return false;
  pending.sending = rest;
  return true;
}

void RowSender::acknowledge(size_t count) {
  PendingChunk& pending = *state_.pending;
  note_stored(first_row(), count);
  pending.sending -= std::min(pending.sending, static_cast<int64_t>(count));
  if (second_look()) pending.skipped.erase(pending.skipped.begin());
  else pending.done += static_cast<int64_t>(count);
  in_doubt_ = proving_ = others_refused_ = halve_if_missing_ = false;
  proven_ = true;
  poison_failures_ = 0;
  const auto done = static_cast<size_t>(pending.done);
  if (done >= poison_end_) poison_end_ = poison_limit_ = 0;
  else poison_limit_ = (poison_end_ - done + 1) / 2;
  if (done >= doubt_end_) return;
  part_ = next_part();
  in_doubt_ = true;
}

int64_t RowSender::retry_pause_ns() {
  if (searching_) return kSearchPauseNs;
  return pause_.next_ns(is_refusal(last_status_.code));
}

void RowSender::take_result(int64_t now_ns) {
  const std::shared_ptr<ReportResult> result = std::exchange(result_, nullptr);
  last_status_ = result->status;
  searching_ = false;
  if (result->was_missing) doubt_end_ = 0;  // no call was made behind one that failed
  if (looking_) {
    take_look();
  } else if (deleting_) {
    deleting_ = false;
    if (result->status.ok()) {
      delete_wanted_ = false;
      state_.acknowledged.clear();
      state_.digests.clear();
      file_.save(state_);
    }
  } else if (result->only_looked) {
    // Nothing of it came yet. A search for a bad row may go on with that; otherwise it is looked for a while longer.
    retry_ns_ = now_ns;
    if (halve_if_missing_) halve(part_);
    else if (!calls_->knows_ids())
      retry_ns_ = std::min(now_ns + pause_.next_ns(false), std::max(doubt_ns_ + settle_ns_, now_ns + 1));
    return;
  } else if (result->status.ok()) {
    acknowledge(part_);
  } else {
    failed(*result, now_ns);
  }
  if (last_status_.ok()) {
    if (failures_ > 0) log::info("the DB manager takes rows again");
    failures_ = 0;
    pause_.reset();
    retry_ns_ = now_ns;
    return;
  }
  if (failures_++ == 0 || is_refusal(last_status_.code))
    log::warn(std::string("the DB manager does not take rows (") + rpc_code_name(last_status_.code) + ": " +
              last_status_.message + "); they are kept, and tried again until it does");
  retry_ns_ = now_ns + retry_pause_ns();
}

void RowSender::step(int64_t now_ns) {
  if (worker_.busy()) {
    if (!worker_.finished()) return;
    if (releasing_) releasing_ = false;
    else take_result(now_ns), release_ns_ = now_ns + kKeepNs, ++calls_made_;
  }
  if (retry_ns_ != INT64_MAX && now_ns < retry_ns_) return;
  retry_ns_ = INT64_MAX;
  // What an earlier attempt left on its way goes with the rest of it.
  if (delete_wanted_) {
    // A call that was given up may still be done, and would leave its rows behind the deletion.
    if (chunk_ && in_doubt_ && !hurried_ && now_ns < std::max<int64_t>(doubt_ns_, 0) + settle_ns_) {
      retry_ns_ = doubt_ns_ + settle_ns_;
      return;
    }
    if (chunk_) state_.pending.reset(), chunk_.reset();
    deleting_ = true;
    result_ = std::make_shared<ReportResult>();
    const auto job = [calls = calls_, trial = trial_, result = result_] { result->status = calls->remove(trial); };
    if (!worker_.start(job)) retry_ns_ = now_ns + pause_.next_ns(false);
    return;
  }
  for (;;) {
    if (chunk_ && static_cast<size_t>(state_.pending->done) >= chunk_->size() && state_.pending->skipped.empty())
      finish_chunk();
    if (chunk_) return send(now_ns);
    if (!flushing_ || !build_chunk()) break;
  }
  if (flushing_) file_.save(state_);
  // A source that cannot be read passes, mostly: at the next report, or in a while where this is the last one.
  read_failures_ = flushing_ && !read_fault_.empty() ? read_failures_ + 1 : 0;
  if (read_failures_ > 0 && (at_end_ || hurried_)) {
    if (read_failures_ < kMostReadFailures) {
      retry_ns_ = now_ns + kReadAgainNs;
      return;
    }
    unreadable_ = read_fault_;
  }
  flushing_ = false;
  if (now_ns < release_ns_) return;
  release_ns_ = INT64_MAX;
  releasing_ = worker_.start([calls = calls_] { calls->rest(); });
}

}  // namespace tacho
