// One call to the DB manager with rows, and the question whether an earlier one that got no answer was stored after all: the
// table has no unique key, so sending twice stores twice. One call is one INSERT: all of its rows are there, or none.
// Thread-safe as far as DbCalls is.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "katib/rpc/clients.h"

namespace tacho {

// The service as the collector uses it; a seam for tests.
class DbCalls {
 public:
  virtual ~DbCalls() = default;
  virtual RpcStatus report(const std::string& trial, std::span<const MetricRow> rows) = 0;
  virtual RpcStatus get(const std::string& trial, const std::string& metric, const DbClient::Visit& visit) = 0;
  virtual RpcStatus remove(const std::string& trial) = 0;
  virtual RpcStatus healthy() = 0;
  virtual RpcStatus set_trial_status(const std::string& trial) = 0;
  // No call for a while: connections, and with them gRPC's threads and timers, are let go.
  virtual void rest() {}
};
// By gRPC; connections are made at the first call, so that a collector starts fast and small.
std::shared_ptr<DbCalls> make_db_calls(const RpcOptions& db, const RpcOptions& early_stopping);

using RowCounts = std::map<std::string, int64_t, std::less<>>;

struct Delivery {
  std::string trial;
  std::shared_ptr<const std::vector<MetricRow>> rows;
  size_t first = 0, count = 0;
  bool in_doubt = false;     // may have been stored by an earlier call
  RowCounts acknowledged;    // rows of each metric before these
};

struct Delivered {
  RpcStatus status;
  bool was_stored = false;   // by the earlier call
  bool serving = false;      // after a refusal: the service is well, so it is these rows that it does not take
};

Delivered deliver(DbCalls& calls, const Delivery& delivery);

// Whether a call in doubt was stored. The count of rows tells when nobody else writes for the Trial; otherwise each row sent must
// be found, at the same time within a microsecond. Keeps the rows sent, however many there are in the database.
class StoredCheck {
 public:
  // `sent`: the rows of one metric in the call, which must outlive this; `acknowledged`: how many there were before.
  StoredCheck(std::span<const MetricRow> sent, int64_t acknowledged);
  void see(const MetricRow& in_db);  // all rows of the metric, in any order
  bool stored() const;

 private:
  std::multimap<std::string_view, int64_t> missing_;  // value and time of what was sent and not seen
  int64_t sent_, acknowledged_, seen_ = 0;
};

// gRPC's numbers.
inline constexpr int kUnknown = 2, kInvalidArgument = 3, kPermissionDenied = 7, kUnimplemented = 12, kUnauthenticated = 16;
// The service understood the call and will not change its mind soon.
bool is_refusal(int code);

}  // namespace tacho
