#include "katib/delivery.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "katib/rpc/time_stamp.h"

namespace tacho {
namespace {

constexpr int kUnavailableCode = 14;

// Pauses are the caller's: a channel whose connection failed is thrown away, since it would keep pauses of its own, and nobody
// polls it while no call is made.
class GrpcCalls final : public DbCalls {
 public:
  GrpcCalls(RpcOptions db, RpcOptions early_stopping) : db_options_(std::move(db)), early_options_(std::move(early_stopping)) {}
  RpcStatus report(const std::string& trial, std::span<const MetricRow> rows) override {
    return with_db([&](DbClient& db) { return db.report(trial, rows); });
  }
  RpcStatus get(const std::string& trial, const std::string& metric, const DbClient::Visit& visit) override {
    return with_db([&](DbClient& db) { return db.visit(trial, metric, visit); });
  }
  RpcStatus remove(const std::string& trial) override {
    return with_db([&](DbClient& db) { return db.remove(trial); });
  }
  RpcStatus healthy() override {
    return with_db([](DbClient& db) { return db.healthy(); });
  }
  void rest() override { db_.reset(); }
  RpcStatus set_trial_status(const std::string& trial) override {
    EarlyStoppingClient client(early_options_);
    return client.set_trial_status(trial);
  }

 private:
  template <class Call>
  RpcStatus with_db(const Call& call) {
    if (!db_) db_.emplace(db_options_);
    RpcStatus status = call(*db_);
    if (status.code == kUnavailableCode) db_.reset();
    return status;
  }
  RpcOptions db_options_, early_options_;
  std::optional<DbClient> db_;
};

// The metric of the rows that has the fewest rows in the database: the smallest answer.
std::string rarest_metric(std::span<const MetricRow> rows, const RowCounts& acknowledged) {
  const MetricRow* best = nullptr;
  int64_t fewest = std::numeric_limits<int64_t>::max();
  for (const MetricRow& row : rows) {
    const auto found = acknowledged.find(row.name);
    const int64_t count = found == acknowledged.end() ? 0 : found->second;
    if (count < fewest) best = &row, fewest = count;
  }
  return best == nullptr ? "" : best->name;
}

}  // namespace

std::shared_ptr<DbCalls> make_db_calls(const RpcOptions& db, const RpcOptions& early_stopping) {
  return std::make_shared<GrpcCalls>(db, early_stopping);
}

bool is_refusal(int code) {
  return code == kInvalidArgument || code == kUnimplemented || code == kUnauthenticated || code == kPermissionDenied;
}

StoredCheck::StoredCheck(std::span<const MetricRow> sent, int64_t acknowledged)
    : sent_(static_cast<int64_t>(sent.size())), acknowledged_(acknowledged) {
  for (const MetricRow& row : sent) missing_.emplace(row.value, parse_time_stamp_us(row.time_stamp).value_or(0));
}

void StoredCheck::see(const MetricRow& in_db) {
  ++seen_;
  const auto [first, last] = missing_.equal_range(in_db.value);
  if (first == last) return;
  const int64_t time_us = parse_time_stamp_us(in_db.time_stamp).value_or(0);
  const auto match = std::find_if(first, last, [&](const auto& entry) {
    return entry.second >= time_us - 1 && entry.second <= time_us + 1;  // MySQL cuts, PostgreSQL rounds
  });
  if (match != last) missing_.erase(match);
}

bool StoredCheck::stored() const {
  if (seen_ == acknowledged_) return false;
  return seen_ == acknowledged_ + sent_ || missing_.empty();
}

Delivered deliver(DbCalls& calls, const Delivery& delivery) {
  const std::span<const MetricRow> rows = std::span(*delivery.rows).subspan(delivery.first, delivery.count);
  Delivered out;
  if (delivery.in_doubt) {
    const std::string metric = rarest_metric(rows, delivery.acknowledged);
    std::vector<MetricRow> sent;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(sent), [&](const MetricRow& row) { return row.name == metric; });
    const auto before = delivery.acknowledged.find(metric);
    StoredCheck check(sent, before == delivery.acknowledged.end() ? 0 : before->second);
    out.status = calls.get(delivery.trial, metric, [&](const MetricRow& row) { check.see(row); });
    if (!out.status.ok()) return out;
    out.was_stored = check.stored();
    if (out.was_stored) return out;
  }
  out.status = calls.report(delivery.trial, rows);
  if (out.status.code == kUnknown || out.status.code == kInvalidArgument) out.serving = calls.healthy().ok();
  return out;
}

}  // namespace tacho
