#include "net/google/bigquery_stream.h"

#include <algorithm>

#include "base/chance.h"
#include "base/units.h"

namespace tacho {
namespace {

constexpr int64_t kFinalRequestMs = 5'000;
constexpr int64_t kNewTable_ns = 600 * kNsPerSec;
constexpr size_t kWorthTrimming = 64 * 1024, kEnvelope = 256;

}  // namespace

BqStream::BqStream(BigQuery& client, BqTableSpec spec, BqEvents events, Clock& clock)
    : client_(client),
      spec_(std::move(spec)),
      events_(std::move(events)),
      clock_(clock),
      cap_rows_(client.settings().rows_per_request),
      batch_rows_(cap_rows_) {}

std::string BqStream::name() const {
  return client_.settings().project + "." + client_.settings().dataset + "." + spec_.table;
}

void BqStream::warn(const std::string& kind, const std::string& text) {
  if (events_.warn) events_.warn(kind + " " + spec_.table, text);
}

void BqStream::add(BqRow row) {
  bytes_ += row.json.size();
  rows_.push_back(std::move(row));
}

BqStep BqStream::step() {
  if (now_ns() < next_ns_) return {blocked_ ? BqStep::Kind::blocked : BqStep::Kind::wait, next_ns_};
  blocked_ = false;
  if (phase_ == Phase::ready && reread_at_ns_ != 0 && now_ns() >= reread_at_ns_) phase_ = Phase::look;
  if (phase_ != Phase::ready) return ensure();
  return rows_.empty() ? BqStep{} : send();
}

BqStep BqStream::flush(int64_t deadline_ns) {
  for (;;) {
    const BqStep step = this->step();
    if (step.kind != BqStep::Kind::wait || now_ns() >= deadline_ns) return step;
    clock_.wait({}, std::min(step.wake_ns, deadline_ns));
  }
}

void BqStream::hurry() {
  next_ns_ = 0;
  backoff_.reset();
  quota_.reset();
  hurried_ = true;
  client_.set_limit_ms(kFinalRequestMs);
}

BqStep BqStream::wait_ms(int64_t ms) {
  next_ns_ = ms > 0 ? now_ns() + ms * kNsPerMs : 0;
  return {BqStep::Kind::wait, next_ns_};
}

// Fatal for the sink, never for the program: rights may come late, a table may be put right.
BqStep BqStream::blocked(const std::string& why, int64_t recheck_ms) {
  reason_ = why;
  warn("blocked", "nothing can be written to the BigQuery table " + name() + ": " + why +
                      "; the rows are kept and it is tried again");
  phase_ = Phase::look;
  blocked_ = true;
  next_ns_ = now_ns() + recheck_ms * kNsPerMs;
  return {BqStep::Kind::blocked, next_ns_};
}

// The second refusal in a row is one of the credentials, not of an old token.
BqStep BqStream::refused_token(const BqVerdict& verdict) {
  GoogleToken* token = client_.token();
  if (token != nullptr && refusals_++ == 0) {
    token->refuse();
    return at_once();
  }
  if (token != nullptr) token->forget();
  const std::string who = token != nullptr && !token->source().empty() ? " (" + token->source() + ")" : "";
  return blocked("the credentials are refused" + who + ": " + verdict.message,
                 backoff_.next_ms_at_least(1'000, chance()));
}

// What is the same for every kind of request.
BqStep BqStream::failed(const BqVerdict& verdict, const char* what) {
  if (verdict.what == BqClass::token) return refused_token(verdict);
  if (verdict.what == BqClass::retry || verdict.what == BqClass::not_found || verdict.what == BqClass::changed) {
    reason_ = std::string("cannot ") + what + ": " + verdict.message;
    warn("retry",
         std::string("BigQuery: cannot ") + what + " " + name() + ": " + verdict.message + "; it is tried again");
    const int64_t wish_ms = verdict.retry_after_ms;
    return wait_ms(wish_ms > 0 ? wish_ms : std::max<int64_t>(backoff_.next_ms(chance()), 1));
  }
  if (verdict.what == BqClass::quota) {
    reason_ = "a quota is used up: " + verdict.message;
    warn("quota", "BigQuery: a quota is used up: " + verdict.message + "; it is tried again");
    const int64_t wish_ms = verdict.retry_after_ms;
    return wait_ms(wish_ms > 0 ? wish_ms : std::max<int64_t>(quota_.next_ms(chance()), 1));
  }
  return blocked(std::string("cannot ") + what + ": " + verdict.message, kRecheckMs);
}

BqStep BqStream::send() {
  // A table had no column of ours. Until those that were added may be used there is nothing to write into.
  if (adapter_.is_empty() && reread_at_ns_ != 0) return {BqStep::Kind::wait, next_ns_ = reread_at_ns_};
  if (adapter_.is_empty()) return phase_ = Phase::look, at_once();
  std::string body;
  const size_t count = take_batch(body);
  if (count == 0) return rows_.empty() ? BqStep{} : at_once();
  const BqVerdict verdict = client_.insert(spec_.table, body);
  if (verdict.what != BqClass::token) refusals_ = 0;
  switch (verdict.what) {
    case BqClass::done: return settle_rows(verdict, count);
    case BqClass::split: return halve(count, verdict);
    case BqClass::too_large: return too_large(count, verdict);
    case BqClass::drop_batch:
      for (size_t left = count; left-- > 0;) drop(0, {0, BqRowClass::invalid, verdict.reason, "", verdict.message});
      return at_once();
    case BqClass::not_found:
      // Normal for minutes after the table was made. Otherwise it is looked for, and made again where that is allowed.
      if (made_ns_ == 0 || now_ns() - made_ns_ > kNewTable_ns) phase_ = Phase::look;
      [[fallthrough]];
    default: return failed(verdict, "insert into");
  }
}

// The first rows in the form that goes over the wire, within the limits. Rows that cannot go are dropped on the way.
size_t BqStream::take_batch(std::string& body) {
  size_t count = 0;
  while (count < rows_.size() && count < batch_rows_) {
    const auto wire = wire_form(count);
    if (!wire) continue;
    const size_t more = wire->size() + rows_[count].insert_id.size() + 32;
    if (count > 0 && body.size() + more + kEnvelope > cap_bytes_) break;
    put_bq_row(body, rows_[count].insert_id, *wire);
    ++count;
  }
  return count;
}

// Nothing when the row was dropped.
std::optional<std::string> BqStream::wire_form(size_t index) {
  BqRow& row = rows_[index];
  if (!in_partition_bounds(row.json, spec_.partition, clock_.realtime_ns() / kNsPerSec)) {
    drop(index, {index, BqRowClass::invalid, "outOfBounds", spec_.partition, "too old or too far ahead for streaming"},
         true);
    return std::nullopt;
  }
  const size_t limit = std::min(kBqRowBytes, cap_bytes_ - kEnvelope);
  if (row.json.size() > limit) {
    std::string shorter = row.json;
    if (!trim_bq_row(shorter, limit)) {
      drop(index,
           {index, BqRowClass::invalid, "tooLarge", "", "the row is larger than " + std::to_string(limit) + " bytes"});
      return std::nullopt;
    }
    bytes_ -= row.json.size() - shorter.size();
    row.json = std::move(shorter);
  }
  auto wire = adapter_.adapt(row.json, with_added());
  if (wire) return *wire;
  drop(index, {index, BqRowClass::invalid, "invalid", "", wire.error().what});
  return std::nullopt;
}

void BqStream::erase(size_t index) {
  bytes_ -= rows_[index].json.size();
  rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(index));
}

void BqStream::accept(size_t index) {
  if (events_.accepted) events_.accepted(rows_[index]);
  ++accepted_;
  erase(index);
}

void BqStream::drop(size_t index, const BqRowError& error, bool out_of_bounds) {
  if (events_.dropped) events_.dropped({rows_[index], error.reason, error.location, error.message, out_of_bounds});
  ++dropped_;
  erase(index);
}

// With skipInvalidRows=false one bad row stops all others, whether the answer names them or the culprit only: what is
// not named is in only where nothing worse than a time-out is said. The others go again at once, without the culprits.
BqStep BqStream::settle_rows(const BqVerdict& verdict, size_t count) {
  std::vector<const BqRowError*> errors(count, nullptr);
  size_t stopped = 0, culprits = 0;
  bool unknown_field = false, again = false, none_is_in = false;
  for (const BqRowError& error : verdict.rows) {
    const bool temporary = error.what == BqRowClass::retry;
    none_is_in = none_is_in || !temporary;
    again = again || temporary;
    // Of one row it is clear which one is meant.
    const size_t index = count == 1 ? 0 : error.index;
    if (index >= count) {
      if (error.what != BqRowClass::stopped && !temporary)
        return halve(count, {BqClass::split, 200, error.reason, error.message, 0, {}});
      none_is_in = true;  // some row, nobody knows which
      continue;
    }
    if (errors[index] != nullptr) continue;
    errors[index] = &error;
    (error.what == BqRowClass::stopped ? stopped : culprits) += 1;
    unknown_field = unknown_field || error.what == BqRowClass::no_such_field;
  }
  if (culprits == 0 && none_is_in && !again) return all_stopped(count, verdict);
  if (unknown_field && (!reread_ || with_added())) return no_such_field();
  for (size_t i = count; i-- > 0;) {
    if (errors[i] == nullptr && !none_is_in) accept(i);
    else if (errors[i] != nullptr && errors[i]->what != BqRowClass::stopped && errors[i]->what != BqRowClass::retry)
      drop(i, *errors[i]);
  }
  stops_ = 0;
  if (again)
    return failed({BqClass::retry, 200, "", "some rows were not taken", verdict.retry_after_ms, {}}, "insert into");
  if (verdict.rows.empty()) {
    backoff_.reset();
    quota_.reset();
    reread_ = false;
    reason_.clear();
    batch_rows_ = std::min(cap_rows_, batch_rows_ * 2);
  }
  return rows_.empty() ? BqStep{} : at_once();
}

BqStep BqStream::all_stopped(size_t count, const BqVerdict& verdict) {
  // One row alone cannot be halved; it is not at fault either, so it waits and goes again.
  if (stops_++ == 0 || count == 1)
    return failed({BqClass::retry, 200, "stopped", "all rows were stopped", verdict.retry_after_ms, {}}, "insert into");
  stops_ = 0;
  BqVerdict why = verdict;
  why.reason = "stopped";
  why.message = "all rows were stopped, none is to blame";
  return halve(count, why);
}

// The schema may be another one by now; and the streaming side learns of new columns minutes later than tables.get. All
// rows go again: one that has no such field stopped the others.
BqStep BqStream::no_such_field() {
  if (!reread_) {
    reread_ = true;
    phase_ = Phase::look;
  } else {
    without_added_until_ns_ = now_ns() + kNewTable_ns;
    warn("columns",
         "BigQuery does not know the added columns of " + name() + " yet; rows go without them for ten minutes");
  }
  return at_once();
}

BqStep BqStream::too_large(size_t count, const BqVerdict& verdict) {
  if (count == 1) {
    std::string shorter = rows_[0].json;
    if (shorter.size() > kWorthTrimming && trim_bq_row(shorter, shorter.size() / 2)) {
      bytes_ -= rows_[0].json.size() - shorter.size();
      rows_[0].json = std::move(shorter);
      return at_once();
    }
  } else {
    cap_rows_ = std::max<size_t>(1, count / 2);
  }
  return halve(count, verdict);
}

BqStep BqStream::halve(size_t count, const BqVerdict& verdict) {
  if (count == 1)
    drop(0, {0, BqRowClass::invalid, verdict.reason.empty() ? "invalid" : verdict.reason, "", verdict.message});
  batch_rows_ = std::max<size_t>(1, count / 2);
  return at_once();
}

}  // namespace tacho
