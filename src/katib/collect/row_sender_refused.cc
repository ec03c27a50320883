// Rows that the service does not take: whose fault it is, and which row it is, found by halving.
#include "base/log.h"
#include "katib/collect/row_sender.h"

namespace tacho {
namespace {

constexpr int kPoisonFailures = 5, kBlamedFailures = 2;

}  // namespace

// The whole was not stored, so its halves are not in doubt.
void RowSender::halve(size_t count) {
  poison_end_ = static_cast<size_t>(state_.pending->done) + count;
  poison_limit_ = (count + 1) / 2;
  poison_failures_ = 0;
  in_doubt_ = halve_if_missing_ = false;
}

// The service is well and does not take these rows: halves them, down to a row that is passed over. At once where it
// says that it is the rows; what is unclear may be anything, so that it must be said of the same rows several times.
void RowSender::refused(Fault fault, size_t count) {
  doubt_end_ = 0;
  ++poison_failures_;
  const bool blamed = fault == Fault::rows;
  if (poison_limit_ == 0) proven_ = false;
  searching_ = !others_refused_ && (blamed || poison_limit_ > 0);
  if (proving_) {  // the next one is not taken either: it need not be the rows
    proving_ = searching_ = false;
    others_refused_ = true;
    state_.pending->done = state_.pending->skipped.back();
    state_.pending->skipped.pop_back();
    state_.pending->sending = static_cast<int64_t>(part_ = 1);
    in_doubt_ = !blamed;
    settle_ns_ = poison_failures_ = 0;
    return;
  }
  if (count > 1) {
    if (poison_failures_ < (poison_limit_ > 0 || blamed ? 1 : kPoisonFailures)) return;
    if (blamed) return halve(count);
    halve_if_missing_ = in_doubt_ = searching_ = true;  // the last answer may have been lost behind the service
    return;
  }
  if (poison_failures_ < (blamed ? kBlamedFailures : kPoisonFailures)) return;
  if (may_pass_over()) {
    PendingChunk& pending = *state_.pending;
    pending.skipped.push_back(pending.done++);
    pending.sending = poison_failures_ = 0;
    in_doubt_ = false;
    proving_ = true;
    poison_limit_ = 1;
    poison_end_ = static_cast<size_t>(pending.done) + 1;
    return;
  }
  searching_ = false;
  if (!blamed || (!proven_ && poison_failures_ < kPoisonFailures)) return;  // until somebody else's fate tells
  const auto done = static_cast<size_t>(state_.pending->done++);
  tell_dropped(done, last_status_.message);
  state_.pending->sending = poison_failures_ = 0;
  in_doubt_ = others_refused_ = false;
  poison_end_ = poison_limit_ = 0;
  searching_ = true;
}

// Others were taken after this row was refused, and it is again.
void RowSender::refused_again(const RpcStatus& status) {
  searching_ = true;
  if (++poison_failures_ < kBlamedFailures) return;
  std::vector<int64_t>& skipped = state_.pending->skipped;
  tell_dropped(static_cast<size_t>(skipped.front()), status.message);
  skipped.erase(skipped.begin());
  state_.pending->sending = poison_failures_ = 0;
  in_doubt_ = false;
}

void RowSender::tell_dropped(size_t number, const std::string& why) {
  const MetricRow row = (*chunk_)[number];
  log::error("a row that the DB manager refuses is dropped: " + row.name + "=" + row.value.substr(0, 80) + " at " +
             row.time_stamp.str() + " (" + why + ")");
}

// Whether it is this row's fault, the one behind it tells.
bool RowSender::may_pass_over() const {
  return !others_refused_ && static_cast<size_t>(state_.pending->done) + 1 < chunk_->size();
}

void RowSender::failed(const ReportResult& result, int64_t now_ns) {
  const Fault fault = fault_of(result.status);
  const bool by_rows = result.serving && (fault == Fault::rows || fault == Fault::unclear);
  if (!result.asked && fault != Fault::rows && !is_refusal(result.status.code) && !was_never_sent(result.status)) {
    // Of several calls in doubt the last one counts, and the longest time.
    settle_ns_ = std::max(in_doubt_ ? settle_ns_ : 0, settle_ns(result.status, call_timeout_ns_, at_end_));
    doubt_ns_ = now_ns;
    in_doubt_ = true;
  }
  if (!by_rows) poison_failures_ = 0;
  else if (second_look()) refused_again(result.status);
  else refused(fault, part_);
}

}  // namespace tacho
