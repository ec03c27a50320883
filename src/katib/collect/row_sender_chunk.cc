// The chunk on its way: read from a stream, or made again after a restart, and sent part by part.
#include <algorithm>
#include <array>
#include <cstdio>
#include <random>

#include "base/log.h"
#include "base/units.h"
#include "katib/collect/row_sender.h"

namespace tacho {
namespace {

// A row may have two companions, and the last line of a chunk rows of thousands of metrics.
static_assert(3 * (RowSender::kMostCalls * RowSender::kMostRows + 5'000) <= PendingChunk::kMost);
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

void RowSender::resume() {
  for (Stream& stream : streams_)
    if (const Status status = stream.reader->seek(state_.streams[stream.name].position); !status)
      log::warn(status.error());
  if (!state_.pending) return;
  PendingChunk pending = *state_.pending;
  Stream* stream = find(pending.stream);
  RowBatch raw;
  bool more = stream != nullptr && stream->reader->stop_at(pending.to);
  while (more && static_cast<int64_t>(raw.size()) < pending.rows) {
    const auto read = stream->reader->read(pending.at_end, static_cast<size_t>(pending.rows) - raw.size(),
                                           [&](const RowView& row) { raw.add(row); });
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

// Reads rows of one stream into a new chunk; false when it has none.
bool RowSender::fill(Stream& stream) {
  StreamProgress& progress = state_.streams[stream.name];
  if (stream.anew) {
    stream.anew = false;
    progress = {};
    if (const Status status = stream.reader->begin_anew(); !status) log::warn(status.error());
  }
  RowBatch raw;
  ArrivalRuns arrivals(stream.marks);
  size_t bytes = 0;
  const size_t calls = calls_->knows_ids() && failures_ == 0 ? kMostCalls : 1;
  const size_t most_rows = calls * kMostRows, most_bytes = calls * kMostBytes;
  for (bool more = true; more && raw.size() < most_rows && bytes < most_bytes / 2;) {
    // Small steps when rows are large, so that a chunk stays near its limit.
    const size_t average = raw.empty() ? kMostBytes / 64 : bytes / raw.size() + 1;
    const size_t limit = std::clamp<size_t>((most_bytes - bytes) / (2 * average), 1, most_rows - raw.size());
    raw.reserve(raw.size() + limit);
    const auto read = stream.reader->read(at_end_, limit, [&](const RowView& row) {
      bytes += wire_bytes(row);
      raw.add(row);
      if (rules_.arrival) arrivals.add(stream.reader->passed());
    });
    if (!read) {
      log::warn(read.error());
      if (read.error().code != Code::invalid) read_fault_ = read.error().message();
    }
    more = read && *read;
    if (stream.reader->restarted()) ++stream.own_restarts;
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
  pending.arrivals = arrivals.take();
  adopt(std::move(pending), std::move(raw), false);
  return true;
}

void RowSender::adopt(PendingChunk pending, RowBatch raw, bool in_doubt) {
  times_after_ = state_.times;
  RowBatch rows = shape_rows(std::move(raw), pending.arrivals, rules_, times_after_);
  const auto size = static_cast<int64_t>(rows.size());
  pending.done = std::min(pending.done, size);
  std::erase_if(pending.skipped, [&](int64_t number) { return number >= pending.done; });
  pending.sending = std::min(
      pending.sending, pending.done < size ? size - pending.done : static_cast<int64_t>(!pending.skipped.empty()));
  if (pending.id.empty()) pending.id = new_id();
  in_doubt_ = in_doubt && pending.sending > 0;
  doubt_ns_ = -1;  // its call may still be done: since when is not known
  settle_ns_ = kUnknownSettleNs;
  doubt_end_ = in_doubt_ && pending.done < size ? static_cast<size_t>(pending.done + pending.sending) : 0;
  chunk_ = std::make_shared<const RowBatch>(std::move(rows));
  state_.pending = std::move(pending);
  poison_end_ = poison_limit_ = 0;
  part_ = 0;
  if (in_doubt_) part_ = next_part();
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
  if (in_doubt_ && part_ > 0) return part_;
  size_t most = poison_limit_ > 0 ? std::min(poison_limit_, poison_end_ - done) : kMostRows;
  if (done < doubt_end_) most = std::min(most, doubt_end_ - done);
  size_t count = 0, bytes = 0;
  for (; done + count < chunk_->size() && count < most; ++count) {
    bytes += wire_bytes((*chunk_)[done + count]);
    if (count > 0 && bytes > kMostBytes) break;
  }
  return count;
}

void RowSender::note_stored(size_t first, size_t count) {
  struct Known {
    int64_t* acknowledged = nullptr;
    RowDigest* digest = nullptr;
  };
  std::vector<Known> known(chunk_->names().size());
  for (size_t i = first; i < first + count; ++i) {
    Known& metric = known[chunk_->name_of(i)];
    if (metric.digest == nullptr) {
      const std::string& name = chunk_->names()[chunk_->name_of(i)];
      metric = {&state_.acknowledged[name], &state_.digests[name]};
    }
    ++*metric.acknowledged;
    metric.digest->add(chunk_->us_of(i).value_or(0), chunk_->value_of(i));
  }
}

void RowSender::finish_chunk() {
  state_.streams[state_.pending->stream].position = state_.pending->to;
  state_.times = std::move(times_after_);
  state_.pending.reset();
  chunk_.reset();
}

}  // namespace tacho
