#include "katib/collect/report_call.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "base/log.h"
#include "katib/collect/refusal.h"

namespace tacho {
namespace {

// Pauses are the caller's: a channel whose connection failed is thrown away, since it would keep pauses of its own, and
// nobody polls it while no call is made.
class GrpcCalls final : public DbCalls {
 public:
  GrpcCalls(RpcOptions db, RpcOptions early_stopping)
      : db_options_(std::move(db)), early_options_(std::move(early_stopping)) {}
  RpcStatus report(const std::string& trial, const RowPart& rows, const std::string& id) override {
    return noted(with_db([&](DbClient& db) { return db.report(trial, rows, id); }));
  }
  RpcStatus get(const std::string& trial, const std::string& metric, const DbClient::Visit& visit) override {
    return noted(with_db([&](DbClient& db) { return db.visit(trial, metric, visit); }));
  }
  RpcStatus remove(const std::string& trial) override {
    return with_db([&](DbClient& db) { return db.remove(trial); });
  }
  RpcStatus healthy() override {
    return with_db([](DbClient& db) { return db.healthy(); });
  }
  bool knows_ids() const override { return knows_ids_; }
  void rest() override { db_.reset(); }
  RpcStatus set_trial_status(const std::string& trial) override {
    EarlyStoppingClient client(early_options_);
    return client.set_trial_status(trial);
  }

 private:
  RpcStatus noted(RpcStatus status) {
    if (status.ok()) knows_ids_ = status.knows_ids;
    return status;
  }
  template <class Call>
  RpcStatus with_db(const Call& call) {
    if (!db_) db_.emplace(db_options_);
    RpcStatus status = call(*db_);
    if (status.code == kUnavailableCode) db_.reset();
    return status;
  }
  RpcOptions db_options_, early_options_;
  std::optional<DbClient> db_;
  std::atomic<bool> knows_ids_ = false;
};

// The metrics of the rows, the one with the fewest rows in the database first: the smallest answer.
std::vector<std::string> metrics_of(const RowPart& rows, const RowDigests& before) {
  std::vector<std::pair<int64_t, std::string>> found;
  for (size_t number = 0; number < rows.size(); ++number) {
    const std::string& name = rows.name(number);
    if (!found.empty() && found.back().second == name) continue;
    if (std::any_of(found.begin(), found.end(), [&](const auto& known) { return known.second == name; })) continue;
    const auto known = before.find(name);
    found.emplace_back(known == before.end() ? 0 : known->second.rows(), name);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> out;
  for (auto& [count, name] : found) out.push_back(std::move(name));
  return out;
}

int64_t time_of(const MetricRow& row) { return row.time_stamp.us().value_or(0); }

}  // namespace

std::shared_ptr<DbCalls> make_db_calls(const RpcOptions& db, const RpcOptions& early_stopping) {
  return std::make_shared<GrpcCalls>(db, early_stopping);
}

StoredCheck::StoredCheck(std::span<const MetricRow> sent, const RowDigest* before) : before_(before) {
  if (before != nullptr) both_ = *before;
  for (const MetricRow& row : sent) {
    const int64_t time_us = time_of(row);
    missing_.emplace(row.value, time_us);
    any_newer_ = any_newer_ || before == nullptr || before->is_older_than(time_us);
    both_.add(time_us, row.value);
  }
}

void StoredCheck::see(const MetricRow& in_db) {
  const int64_t time_us = time_of(in_db);
  const auto [first, last] = missing_.equal_range(in_db.value);
  const auto match = std::find_if(first, last, [&](const auto& entry) {
    return entry.second >= time_us - 1 && entry.second <= time_us + 1;  // MySQL cuts, PostgreSQL rounds
  });
  seen_.add(match != last ? match->second : time_us, in_db.value);
  if (match != last) missing_.erase(match);
}

StoredCheck::Verdict StoredCheck::verdict() const {
  if (!missing_.empty()) return Verdict::not_stored;
  if (before_ == nullptr) return Verdict::stored;
  bool as_before = false, as_both = false;
  for (size_t i = 0; i < RowDigest::kBuckets; ++i) {
    if (before_->bucket(i) == both_.bucket(i)) continue;  // nothing of the call falls here
    as_before = as_before || seen_.bucket(i) == before_->bucket(i);
    as_both = as_both || seen_.bucket(i) == both_.bucket(i);
  }
  if (as_before != as_both) return as_both ? Verdict::stored : Verdict::not_stored;
  if (any_newer_ && !as_before) return Verdict::stored;
  return seen_.rows() < both_.rows() ? Verdict::not_stored : Verdict::unclear;
}

RpcStatus look_before(DbCalls& calls, const std::string& trial, std::span<const std::string> metrics, RowDigests& out) {
  for (const std::string& metric : metrics) {
    RowDigest digest;
    RpcStatus status = calls.get(trial, metric, [&](const MetricRow& row) { digest.add(time_of(row), row.value); });
    if (!status.ok() && !is_refusal(status.code)) return status;  // whoever may not read still may write
    out[metric] = digest;
  }
  return {};
}

ReportResult perform(DbCalls& calls, const ReportCall& call) {
  const RowPart rows(*call.rows, call.first, call.count);
  ReportResult out;
  if (call.in_doubt) {
    auto verdict = StoredCheck::Verdict::unclear;
    for (const std::string& metric : metrics_of(rows, call.before)) {
      std::vector<MetricRow> sent;
      for (size_t number = 0; number < rows.size(); ++number)
        if (rows.name(number) == metric) sent.push_back(rows[number]);
      const auto before = call.before.find(metric);
      StoredCheck check(sent, before == call.before.end() ? nullptr : &before->second);
      out.status = calls.get(call.trial, metric, [&](const MetricRow& row) { check.see(row); });
      if (!out.status.ok()) return out.asked = true, out;
      verdict = check.verdict();
      if (verdict != StoredCheck::Verdict::unclear) break;
    }
    out.was_stored = verdict == StoredCheck::Verdict::stored;
    out.was_missing = verdict == StoredCheck::Verdict::not_stored;
    if (out.was_stored) return out;
    if (!call.may_send) return out.only_looked = true, out;
    if (verdict == StoredCheck::Verdict::unclear && !calls.knows_ids())
      log::warn(
          "others report the very same rows for this Trial, so nobody can tell whether a call without an answer was "
          "stored; its rows are "
          "sent again, and may be there twice");
  }
  out.status = calls.report(call.trial, rows, call.id);
  const Fault fault = fault_of(out.status);
  if (fault == Fault::rows || fault == Fault::unclear) out.serving = calls.healthy().ok();
  return out;
}

}  // namespace tacho
