#include "katib/reporter.h"

#include <algorithm>

#include "base/log.h"
#include "base/units.h"

namespace tacho {
namespace {

constexpr int64_t kFirstPauseNs = 500 * kNsPerMs, kLongestPauseNs = 30 * kNsPerSec;
constexpr int kPoisonFailures = 5, kBlamedFailures = 2;
// An unused connection is kept for longer than the usual pause between reports.
constexpr int64_t kKeepNs = 15 * kNsPerSec;

}  // namespace

int64_t ReportPause::next_ns(bool longest) {
  pause_ns_ = longest ? kLongestPauseNs : std::clamp(pause_ns_ * 2, kFirstPauseNs, kLongestPauseNs);
  return static_cast<int64_t>(static_cast<double>(pause_ns_) * std::uniform_real_distribution(0.8, 1.2)(random_));
}

Reporter::Reporter(std::string trial, ShapeRules rules, std::shared_ptr<DbCalls> calls, CollectState& state, StateFile& file)
    : trial_(std::move(trial)), rules_(rules), calls_(std::move(calls)), state_(state), file_(file) {}

void Reporter::add_stream(std::string name, Reader& reader, const ArrivalMarks* marks, bool open) {
  streams_.push_back({std::move(name), &reader, marks, open});
}

Reporter::Stream* Reporter::find(std::string_view name) {
  const auto found = std::find_if(streams_.begin(), streams_.end(), [&](const Stream& stream) { return stream.name == name; });
  return found == streams_.end() ? nullptr : &*found;
}

void Reporter::open_stream(std::string_view name) {
  if (Stream* stream = find(name)) stream->open = true;
}

void Reporter::begin_anew(std::string_view name) {
  Stream* stream = find(name);
  if (stream == nullptr) return;
  stream->anew = stream->own_restarts == 0 || delete_wanted_;
  stream->own_restarts = std::max(stream->own_restarts - 1, 0);
}

void Reporter::resume() {
  for (Stream& stream : streams_)
    if (const Status status = stream.reader->seek(state_.streams[stream.name].position); !status) log::warn(status.error());
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
  if (stream != nullptr && static_cast<int64_t>(raw.size()) == pending.rows) return adopt(std::move(pending), std::move(raw), true);
  log::warn("rows that were on their way cannot be read again, since the source changed; they may be missing or reported twice");
  state_.pending.reset();
  if (stream != nullptr)
    if (const Status status = stream->reader->seek(state_.streams[stream->name].position); !status) log::warn(status.error());
}

void Reporter::flush(bool at_end) {
  flushing_ = true;
  at_end_ = at_end_ || at_end;
}

// Reads rows of one stream into a new chunk; false when it has none.
bool Reporter::fill(Stream& stream) {
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
    if (!read) log::warn(read.error());
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

void Reporter::adopt(PendingChunk pending, std::vector<MetricRow> raw, bool in_doubt) {
  times_after_ = state_.times;
  auto rows = shape_rows(std::move(raw), pending.arrivals, rules_, times_after_);
  const auto size = static_cast<int64_t>(rows.size());
  pending.done = std::min(pending.done, size);
  pending.sending = std::min(pending.sending, size - pending.done);
  in_doubt_ = in_doubt && pending.sending > 0;
  chunk_ = std::make_shared<const std::vector<MetricRow>>(std::move(rows));
  state_.pending = std::move(pending);
  poison_end_ = poison_limit_ = 0;
  poison_failures_ = 0;
  passed_over_.reset();
  others_refused_ = false;
}

bool Reporter::build_chunk() {
  for (Stream& stream : streams_)
    if (stream.open && fill(stream)) return true;
  return false;
}

// How many rows the next call carries.
size_t Reporter::next_part() const {
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

void Reporter::send(int64_t now_ns) {
  PendingChunk& pending = *state_.pending;
  pending.sending = static_cast<int64_t>(next_part());
  file_.save(state_);
  result_ = std::make_shared<Delivered>();
  Delivery delivery{trial_, chunk_, static_cast<size_t>(pending.done), static_cast<size_t>(pending.sending), in_doubt_, state_.acknowledged};
  const bool started = worker_.start([calls = calls_, delivery = std::move(delivery), result = result_] { *result = deliver(*calls, delivery); });
  retry_ns_ = started ? INT64_MAX : now_ns + pause_.next_ns(false);
}

void Reporter::acknowledge(size_t count, bool stored) {
  PendingChunk& pending = *state_.pending;
  auto metric = state_.acknowledged.end();  // of the row before: mostly the next one's, too
  for (size_t i = 0; stored && i < count; ++i) {
    const std::string& name = (*chunk_)[static_cast<size_t>(pending.done) + i].name;
    if (metric == state_.acknowledged.end() || metric->first != name) metric = state_.acknowledged.try_emplace(name, 0).first;
    ++metric->second;
  }
  pending.done += static_cast<int64_t>(count);
  pending.sending = 0;
  in_doubt_ = false;
  poison_failures_ = 0;
  const auto done = static_cast<size_t>(pending.done);
  if (done >= poison_end_) poison_end_ = poison_limit_ = 0;
  else poison_limit_ = (poison_end_ - done + 1) / 2;
}

// The service is well and does not take these rows: halves them, down to the row that is dropped. At once where it says that it is
// the rows; UNKNOWN may be anything, so that it must be said of the same rows several times.
void Reporter::refused(const Delivered& result, size_t count) {
  ++poison_failures_;
  const bool blamed = result.status.code == kInvalidArgument;
  if (poison_limit_ == 0) proven_ = false;
  if (passed_over_) {  // the next one is not taken either: it need not be the rows
    state_.pending->done = *std::exchange(passed_over_, std::nullopt);
    poison_failures_ = 0;
    others_refused_ = true;
    return;
  }
  if (blamed && count == 1 && poison_failures_ >= kBlamedFailures && may_pass_over()) {
    passed_over_ = state_.pending->done++;
    passed_over_why_ = result.status.message;
    state_.pending->sending = poison_failures_ = 0;
    poison_limit_ = 1;
    poison_end_ = static_cast<size_t>(state_.pending->done) + 1;
    return;
  }
  if (poison_failures_ < (count > 1 && (poison_limit_ > 0 || blamed) ? 1 : kPoisonFailures)) return;
  poison_failures_ = 0;
  const auto done = static_cast<size_t>(state_.pending->done);
  if (count > 1) {
    poison_end_ = done + count;
    poison_limit_ = (count + 1) / 2;
    // The whole was not stored (the call was answered), so its halves are not in doubt.
    in_doubt_ = false;
    return;
  }
  tell_dropped(done, result.status.message);
  acknowledge(1, false);
  poison_end_ = poison_limit_ = 0;
}

void Reporter::tell_dropped(size_t number, const std::string& why) {
  const MetricRow& row = (*chunk_)[number];
  log::error("a row that the DB manager refuses is dropped: " + row.name + "=" + row.value.substr(0, 80) + " at " + row.time_stamp + " (" + why +
             ")");
  proven_ = others_refused_ = false;
}

// Nothing was taken since the search began: whether it is this row's fault, the one behind it tells.
bool Reporter::may_pass_over() const {
  return !proven_ && !others_refused_ && static_cast<size_t>(state_.pending->done) + 1 < chunk_->size();
}

int64_t Reporter::retry_pause_ns(bool by_rows) {
  const bool sent = state_.pending && state_.pending->sending > 0;
  // A single row that nobody else's fate tells of: the service gets its time.
  const bool in_question = sent && state_.pending->sending == 1 && last_status_.code == kInvalidArgument && !proven_ && !may_pass_over();
  if (by_rows && !in_question && (poison_limit_ > 0 || !sent || last_status_.code == kInvalidArgument)) return kFirstPauseNs / 5;
  return pause_.next_ns(is_refusal(last_status_.code));
}

void Reporter::take_result(int64_t now_ns) {
  const std::shared_ptr<Delivered> result = std::exchange(result_, nullptr);
  bool by_rows = false;
  if (deleting_) {
    deleting_ = false;
    last_status_ = result->status;
    if (result->status.ok()) {
      delete_wanted_ = false;
      state_.acknowledged.clear();
      file_.save(state_);
    }
  } else {
    last_status_ = result->status;
    const auto count = static_cast<size_t>(state_.pending->sending);
    if (result->status.ok()) {
      acknowledge(count, true);
      if (passed_over_) tell_dropped(static_cast<size_t>(*std::exchange(passed_over_, std::nullopt)), passed_over_why_);
      proven_ = true;
    } else {
      by_rows = result->serving && (result->status.code == kUnknown || result->status.code == kInvalidArgument);
      in_doubt_ = in_doubt_ || !is_refusal(result->status.code);
      if (by_rows) refused(*result, count);
      else poison_failures_ = 0;
    }
  }
  if (last_status_.ok()) {
    if (failures_ > 0) log::error("the DB manager takes rows again");
    failures_ = 0;
    pause_.reset();
    retry_ns_ = now_ns;
    return;
  }
  if (failures_++ == 0 || is_refusal(last_status_.code))
    log::warn(std::string("the DB manager does not take rows (") + rpc_code_name(last_status_.code) + ": " + last_status_.message +
              "); they are kept, and tried again until it does");
  retry_ns_ = now_ns + retry_pause_ns(by_rows);
}

void Reporter::finish_chunk() {
  StreamProgress& progress = state_.streams[state_.pending->stream];
  progress.position = state_.pending->to;
  progress.rows += state_.pending->rows;
  state_.times = std::move(times_after_);
  state_.pending.reset();
  chunk_.reset();
}

void Reporter::step(int64_t now_ns) {
  if (worker_.busy()) {
    if (!worker_.finished()) return;
    if (releasing_) releasing_ = false;
    else take_result(now_ns), release_ns_ = now_ns + kKeepNs, ++calls_made_;
  }
  if (retry_ns_ != INT64_MAX && now_ns < retry_ns_) return;
  retry_ns_ = INT64_MAX;
  // What an earlier attempt left on its way goes with the rest of it.
  if (delete_wanted_) {
    if (chunk_) state_.pending.reset(), chunk_.reset();
    deleting_ = true;
    result_ = std::make_shared<Delivered>();
    const auto job = [calls = calls_, trial = trial_, result = result_] { result->status = calls->remove(trial); };
    if (!worker_.start(job)) retry_ns_ = now_ns + pause_.next_ns(false);
    return;
  }
  for (;;) {
    if (chunk_ && static_cast<size_t>(state_.pending->done) >= chunk_->size()) finish_chunk();
    if (chunk_) return send(now_ns);
    if (!flushing_ || !build_chunk()) break;
  }
  if (flushing_) file_.save(state_);
  flushing_ = false;
  if (now_ns < release_ns_) return;
  release_ns_ = INT64_MAX;
  releasing_ = worker_.start([calls = calls_] { calls->rest(); });
}

}  // namespace tacho
