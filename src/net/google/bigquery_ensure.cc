// BqStream's first half: making sure of the table (cromwell-bigquery.md §1.10, §2.5). One request a phase.
#include <utility>

#include "base/joined.h"
#include "base/units.h"
#include "net/google/bigquery_stream.h"

namespace tacho {
namespace {

constexpr int kConfirmations = 2, kMaxPatches = 5;

}  // namespace

BqStep BqStream::ensure() {
  switch (phase_) {
    case Phase::look:
    case Phase::confirm: return look();
    case Phase::look_for_dataset: return look_for_dataset();
    case Phase::make_dataset: return make_dataset();
    case Phase::make_table: return make_table();
    case Phase::patch: return patch();
    case Phase::ready: break;
  }
  return at_once();
}

BqStep BqStream::look() {
  BqTableInfo info;
  const BqVerdict verdict = client_.get_table(spec_.table, info);
  if (verdict.what != BqClass::token) refusals_ = 0;
  if (verdict.what == BqClass::done) {
    info_ = std::move(info);
    // Of a table that was made just now, two readings in a row must agree that it is there.
    if (phase_ == Phase::confirm && ++confirmed_ < kConfirmations) return at_once();
    return took_table();
  }
  if (verdict.what != BqClass::not_found || phase_ == Phase::confirm) {
    confirmed_ = 0;
    return failed(verdict, "look at the table");
  }
  if (!client_.settings().create)
    return blocked(
        "it does not exist, and making it is not allowed (make it with tacho bq init, or leave --bq-create=never out)",
        kRecheckMs);
  phase_ = Phase::look_for_dataset;
  return at_once();
}

BqStep BqStream::look_for_dataset() {
  const BqVerdict verdict = client_.get_dataset();
  dataset_unseen_ = verdict.what == BqClass::blocked;
  if (verdict.what == BqClass::not_found) phase_ = Phase::make_dataset;
  // Who may make tables need not be allowed to look at datasets.
  else if (verdict.what == BqClass::done || verdict.what == BqClass::blocked) phase_ = Phase::make_table;
  else return failed(verdict, "look at the dataset of");
  return at_once();
}

BqStep BqStream::make_dataset() {
  const BqVerdict verdict = client_.create_dataset();
  if (verdict.what != BqClass::done) return failed(verdict, "make the dataset of");
  phase_ = Phase::make_table;
  return at_once();
}

BqStep BqStream::make_table() {
  const BqVerdict verdict = client_.create_table(spec_);
  if (verdict.what != BqClass::done) {
    // Google also says "forbidden" of a dataset that does not exist.
    if (verdict.what == BqClass::not_found && std::exchange(dataset_unseen_, false)) {
      phase_ = Phase::make_dataset;
      return at_once();
    }
    if (verdict.what == BqClass::not_found) phase_ = Phase::look_for_dataset;
    return failed(verdict, "make the table");
  }
  confirmed_ = 0;
  phase_ = Phase::look;
  if (verdict.status != 409) {
    made_ns_ = now_ns();
    phase_ = Phase::confirm;
  }
  return at_once();
}

BqStep BqStream::took_table() {
  auto adapter = BqAdapter::make(spec_, info_);
  if (!adapter) return failed(classify_bq(adapter.error()), "read the table");
  if (!adapter->blocked().empty())
    return blocked(adapter->blocked() + " (give the table the columns of tacho bq init, or name another one)",
                   kRecheckMs);
  adapter_ = std::move(*adapter);
  backoff_.reset();
  reread_at_ns_ = 0;
  if (adapter_.can_add() && client_.settings().add_columns && !gave_up_adding_) {
    phase_ = Phase::patch;
    return at_once();
  }
  if (adapter_.is_empty())
    return blocked("it has no column that tacho writes (name another table, or use --bq-add-columns)", kRecheckMs);
  if (!adapter_.missing().empty())
    warn("missing", "the BigQuery table " + name() +
                        " lacks columns, which are left out: " + joined(adapter_.missing()) +
                        (client_.settings().add_columns ? "" : " (--bq-add-columns adds them)"));
  phase_ = Phase::ready;
  return rows_.empty() ? BqStep{} : at_once();
}

// Several monitors may add the same columns at once: who comes second reads again.
BqStep BqStream::patch() {
  const BqVerdict verdict = client_.patch_table(spec_.table, adapter_.patched_fields_json(), info_.etag);
  if (verdict.what == BqClass::done) {
    // Until streaming knows them too, rows go without the new columns; then the table is read once more.
    reread_at_ns_ = now_ns() + client_.settings().column_wait_ms * kNsPerMs;
    phase_ = Phase::ready;
    return rows_.empty() ? BqStep{} : at_once();
  }
  if (verdict.what == BqClass::changed && ++patches_ < kMaxPatches) {
    phase_ = Phase::look;
    return at_once();
  }
  if (verdict.what == BqClass::retry || verdict.what == BqClass::quota || verdict.what == BqClass::token)
    return failed(verdict, "add columns to");
  gave_up_adding_ = true;
  warn("columns", "no columns can be added to the BigQuery table " + name() + ": " + verdict.message +
                      "; they are left out: " + joined(adapter_.missing()));
  phase_ = Phase::ready;
  return rows_.empty() ? BqStep{} : at_once();
}

}  // namespace tacho
