// Whose fault it is that a call failed: the rows', the service's, or nobody can tell. Katib's own DB manager answers
// every fault of its database with UNKNOWN and the database's words, so these words must be read. Pure; thread-safe.
#pragma once
#include <cstdint>

#include "katib/rpc/clients.h"

namespace tacho {

// gRPC's numbers.
inline constexpr int kCancelled = 1, kUnknown = 2, kInvalidArgument = 3, kDeadlineExceeded = 4, kPermissionDenied = 7,
                     kUnimplemented = 12, kUnavailableCode = 14, kUnauthenticated = 16;

enum class Fault {
  none,     // it was done
  rows,     // some row is one that the database never takes
  service,  // read-only, full, away, locked …: the same rows will be taken later
  unclear,
};
Fault fault_of(const RpcStatus& status);

// The service understood the call and will not change its mind soon.
bool is_refusal(int code);
// The call never reached the service, so it cannot take effect later.
bool was_never_sent(const RpcStatus& status);
inline constexpr int64_t kLongestSettleNs = 60'000'000'000;
// How long a call that was given up may still take effect: the collector waits that long before it sends the same rows
// again. Much longer while training runs (`hurried` false): nobody asks for the rows before training has ended, and a
// service whose database hangs stores them minutes later.
int64_t settle_ns(const RpcStatus& status, int64_t call_timeout_ns, bool hurried);

}  // namespace tacho
