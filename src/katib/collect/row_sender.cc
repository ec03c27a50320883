#include "katib/collect/row_sender.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/log.h"
#include "base/units.h"

namespace tacho {
namespace {

constexpr int64_t kSearchPauseNs = 100 * kNsPerMs;
constexpr int kPoisonFailures = 5, kBlamedFailures = 2;
// An unused connection is kept for longer than the usual pause between reports.
constexpr int64_t kKeepNs = 15 * kNsPerSec;
constexpr int64_t kReadAgainNs = kNsPerSec;
constexpr int kMostReadFailures = 60;
// For a call of which only the state file tells.
constexpr int64_t kUnknownSettleNs = 2 * kNsPerSec;

// Unlike that of any other chunk, whoever sends it.
std::string new_id() {
  static std::random_device random;  // to make one takes longer than what it is asked for
  std::string out;
  for (int i = 0; i < 4; ++i) {
    std::array<char, 9> part{};
    std::snprintf(part.data(), part.size(), "%08x", static_cast<unsigned>(random()));
    out += part.data();
  }
  return out;
}

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

void RowSender::resume() {
  for (Stream& stream : streams_)
    if (const Status status = stream.reader->seek(state_.streams[stream.name].position); !status)
      log::warn(status.error());
  if (!state_.pending) return;
  PendingChunk pending = *state_.pending;
  Stream* stream = find(pending.stream);
  std::vector<MetricRow> raw;
  bool more = stream != nullptr && stream->reader->stop_at(pending.to);
  while (more && static_cast<int64_t>(raw.size()) < pending.rows) {
    const auto read = stream->reader->read(pending.at_end, static_cast<size_t>(pending.rows) - raw.size(),
                                           [&](MetricRow&& row) { raw.push_back(std::move(row)); });
    more = read && *read;  // a turn may pass over much of the source without a row
  }
  if (stream != nullptr)
    if (const Status status = stream->reader->stop_at(""); !status) log::warn(status.error());
  if (stream != nullptr && static_cast<int64_t>(raw.size()) == pending.rows)
    return adopt(std::move(pending), std::move(raw), true);
  log::warn(
      "rows that were on their way cannot be read again, since the source changed; they may be missing or reported "
      "twice");
  state_.pending.reset();
  if (stream != nullptr)
    if (const Status status = stream->reader->seek(state_.streams[stream->name].position); !status)
      log::warn(status.error());
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

// Reads rows of one stream into a new chunk; false when it has none.
bool RowSender::fill(Stream& stream) {
  StreamProgress& progress = state_.streams[stream.name];
  if (stream.anew) {
    stream.anew = false;
    progress = {};
    if (const Status status = stream.reader->begin_anew(); !status) log::warn(status.error());
  }
  std::vector<MetricRow> raw;
  size_t bytes = 0;
  for (bool more = true; more && raw.size() < kMostRows && bytes < kMostBytes / 2;) {
    // Small steps when rows are large, so that a chunk stays near its limit.
    const size_t average = raw.empty() ? kMostBytes / 64 : bytes / raw.size() + 1;
    const size_t limit = std::clamp<size_t>((kMostBytes - bytes) / (2 * average), 1, kMostRows - raw.size());
    raw.reserve(raw.size() + limit);
    const auto read = stream.reader->read(at_end_, limit, [&](MetricRow&& row) {
      bytes += wire_bytes(row);
      raw.push_back(std::move(row));
    });
    if (!read) {
      log::warn(read.error());
      if (read.error().code != Code::invalid) read_fault_ = read.error().message();
    }
    more = read && *read;
    if (stream.reader->restarted()) {
      ++stream.own_restarts;
      progress.rows = 0;
    }
  }
  if (raw.empty()) {
    // What was passed over need not be read again.
    progress.position = stream.reader->position();
    return false;
  }
  PendingChunk pending;
  pending.stream = stream.name;
  pending.to = stream.reader->position();
  pending.rows = static_cast<int64_t>(raw.size());
  pending.at_end = at_end_;
  if (rules_.arrival) {
    const int64_t now = now_us();
    pending.arrivals = stream.marks == nullptr ? std::vector<ArrivalRun>{{pending.rows, now}}
                                               : stream.marks->runs(progress.rows, pending.rows, now);
  }
  adopt(std::move(pending), std::move(raw), false);
  return true;
}

void RowSender::adopt(PendingChunk pending, std::vector<MetricRow> raw, bool in_doubt) {
  times_after_ = state_.times;
  auto rows = shape_rows(std::move(raw), pending.arrivals, rules_, times_after_);
  const auto size = static_cast<int64_t>(rows.size());
  pending.done = std::min(pending.done, size);
  std::erase_if(pending.skipped, [&](int64_t number) { return number >= pending.done; });
  pending.sending = std::min(
      pending.sending, pending.done < size ? size - pending.done : static_cast<int64_t>(!pending.skipped.empty()));
  if (pending.id.empty()) pending.id = new_id();
  in_doubt_ = in_doubt && pending.sending > 0;
  doubt_ns_ = -1;  // its call may still be done: since when is not known
  settle_ns_ = kUnknownSettleNs;
  chunk_ = std::make_shared<const std::vector<MetricRow>>(std::move(rows));
  state_.pending = std::move(pending);
  poison_end_ = poison_limit_ = 0;
  poison_failures_ = 0;
  proving_ = others_refused_ = halve_if_missing_ = false;
}

bool RowSender::build_chunk() {
  read_fault_.clear();
  for (Stream& stream : streams_)
    if (stream.open && fill(stream)) return true;
  return false;
}

// All rows were sent but for those that were passed over.
bool RowSender::second_look() const {
  return static_cast<size_t>(state_.pending->done) >= chunk_->size() && !state_.pending->skipped.empty();
}

size_t RowSender::first_row() const {
  return static_cast<size_t>(second_look() ? state_.pending->skipped.front() : state_.pending->done);
}

// How many rows the next call carries.
size_t RowSender::next_part() const {
  if (second_look()) return 1;
  const auto done = static_cast<size_t>(state_.pending->done);
  if (in_doubt_) return static_cast<size_t>(state_.pending->sending);
  const size_t most = poison_limit_ > 0 ? std::min(poison_limit_, poison_end_ - done) : kMostRows;
  size_t count = 0, bytes = 0;
  for (; done + count < chunk_->size() && count < most; ++count) {
    bytes += wire_bytes((*chunk_)[done + count]);
    if (count > 0 && bytes > kMostBytes) break;
  }
  return count;
}

// Rows of a metric that this collector knows nothing of: an earlier one, whose state is gone, may have reported the
// same. True: it is being asked.
bool RowSender::look_first(int64_t now_ns) {
  std::vector<std::string> unknown;
  if (in_doubt_) return false;
  const size_t first = first_row(), count = next_part();
  std::vector<const std::string*> seen;  // a few names, again and again
  for (size_t i = first; i < first + count; ++i) {
    const std::string& name = (*chunk_)[i].name;
    if (std::any_of(seen.begin(), seen.end(), [&](const std::string* known) { return *known == name; })) continue;
    seen.push_back(&name);
    if (!state_.digests.contains(name)) unknown.push_back(name);
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
  PendingChunk& pending = *state_.pending;
  const size_t count = next_part();
  pending.sending = static_cast<int64_t>(count);
  file_.save(state_);
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
  const bool started = worker_.start(
      [calls = calls_, call = std::move(call), result = result_] { *result = perform(*calls, call); });
  retry_ns_ = started ? INT64_MAX : now_ns + pause_.next_ns(false);
}

void RowSender::note_stored(size_t first, size_t count) {
  struct Known {
    const std::string* name;
    int64_t* acknowledged;
    RowDigest* digest;
  };
  std::vector<Known> known;  // a few names, again and again
  for (size_t i = first; i < first + count; ++i) {
    const MetricRow& row = (*chunk_)[i];
    auto metric = std::find_if(known.begin(), known.end(), [&](const Known& one) { return *one.name == row.name; });
    if (metric == known.end())
      metric = known.insert(known.end(), {&row.name, &state_.acknowledged[row.name], &state_.digests[row.name]});
    ++*metric->acknowledged;
    metric->digest->add(row.time_stamp.us().value_or(0), row.value);
  }
}

void RowSender::acknowledge(size_t count) {
  PendingChunk& pending = *state_.pending;
  note_stored(first_row(), count);
  if (second_look()) pending.skipped.erase(pending.skipped.begin());
  else pending.done += static_cast<int64_t>(count);
  pending.sending = 0;
  in_doubt_ = proving_ = others_refused_ = halve_if_missing_ = false;
  proven_ = true;
  poison_failures_ = 0;
  const auto done = static_cast<size_t>(pending.done);
  if (done >= poison_end_) poison_end_ = poison_limit_ = 0;
  else poison_limit_ = (poison_end_ - done + 1) / 2;
}

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
  ++poison_failures_;
  const bool blamed = fault == Fault::rows;
  if (poison_limit_ == 0) proven_ = false;
  searching_ = !others_refused_ && (blamed || poison_limit_ > 0);
  if (proving_) {  // the next one is not taken either: it need not be the rows
    proving_ = searching_ = false;
    others_refused_ = true;
    state_.pending->done = state_.pending->skipped.back();
    state_.pending->skipped.pop_back();
    state_.pending->sending = 1;
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
  const MetricRow& row = (*chunk_)[number];
  log::error("a row that the DB manager refuses is dropped: " + row.name + "=" + row.value.substr(0, 80) + " at " +
             row.time_stamp.str() + " (" + why + ")");
}

// Whether it is this row's fault, the one behind it tells.
bool RowSender::may_pass_over() const {
  return !others_refused_ && static_cast<size_t>(state_.pending->done) + 1 < chunk_->size();
}

int64_t RowSender::retry_pause_ns() {
  if (searching_) return kSearchPauseNs;
  return pause_.next_ns(is_refusal(last_status_.code));
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
  else refused(fault, static_cast<size_t>(state_.pending->sending));
}

void RowSender::take_result(int64_t now_ns) {
  const std::shared_ptr<ReportResult> result = std::exchange(result_, nullptr);
  last_status_ = result->status;
  searching_ = false;
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
    if (halve_if_missing_) halve(static_cast<size_t>(state_.pending->sending));
    else if (!calls_->knows_ids())
      retry_ns_ = std::min(now_ns + pause_.next_ns(false), std::max(doubt_ns_ + settle_ns_, now_ns + 1));
    return;
  } else if (result->status.ok()) {
    acknowledge(static_cast<size_t>(state_.pending->sending));
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

void RowSender::finish_chunk() {
  StreamProgress& progress = state_.streams[state_.pending->stream];
  progress.position = state_.pending->to;
  progress.rows += state_.pending->rows;
  state_.times = std::move(times_after_);
  state_.pending.reset();
  chunk_.reset();
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
