#include "katib/collect/refusal.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/units.h"

namespace tacho {
namespace {

// In small letters. Numbers are MySQL's (1264, 1292, 1366, 1406, 3140 …) and SQLSTATE class 22; the rest PostgreSQL's
// words, Go's of a time, and those of tacho-katib db.
// clang-format off
constexpr std::array<std::string_view, 21> kRows{
    "error 1264", "error 1292", "error 1366", "error 1406", "error 3988", "sqlstate 22", "data too long for column", "incorrect string value",
    "incorrect datetime value", "invalid byte sequence", "value too long for type", "date/time field value out of range",
    "invalid input syntax", "has no equivalent in encoding", "timestamp out of range", "parsing time ", "cannot parse \"", "is no rfc 3339 time",
    "is longer than 255 characters", "postgresql stores no nul byte", "postgresql has no year 0"};
constexpr std::array<std::string_view, 42> kService{
    "read-only", "read only", "readonly", "disk full", "disk is full", "no space left", "is full", "quota", "out of memory", "lock wait timeout",
    "deadlock", "database is locked", "could not serialize", "could not extend file", "too many connections", "too many clients",
    "remaining connection slots", "connection refused", "connection reset", "connection timed out", "bad connection", "invalid connection",
    "broken pipe", "gone away", "i/o timeout", "i/o error", "timeout", "timed out", "context deadline", "context canceled", "canceling statement",
    "no route to host", "no such host", "unexpected eof", "shutting down", "shutdown", "starting up", "recovery mode", "hot standby",
    "permission denied", "access denied", "command denied"};
// clang-format on

bool holds_any(std::string_view text, std::span<const std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return text.find(word) != text.npos; });
}

}  // namespace

Fault fault_of(const RpcStatus& status) {
  if (status.ok()) return Fault::none;
  if (status.code == kInvalidArgument) return Fault::rows;
  if (status.code != kUnknown) return Fault::service;
  const std::string text = lower(status.message);
  if (holds_any(text, kRows)) return Fault::rows;
  return holds_any(text, kService) ? Fault::service : Fault::unclear;
}

bool is_refusal(int code) {
  return code == kInvalidArgument || code == kUnimplemented || code == kUnauthenticated || code == kPermissionDenied;
}

bool was_never_sent(const RpcStatus& status) {
  // The channel's own words when it has no connection; a call on one that broke has others.
  constexpr std::array<std::string_view, 2> kNoConnection{"failed to connect to all addresses",
                                                          "dns resolution failed"};
  return status.code == kUnavailableCode && holds_any(lower(status.message), kNoConnection);
}

int64_t settle_ns(const RpcStatus& status, int64_t call_timeout_ns, bool hurried) {
  // So long a dead connection to a database is kept: the kernel's last try to send.
  constexpr int64_t kPatient = 16 * 60 * kNsPerSec;
  constexpr int64_t kBroken = 2 * kNsPerSec;
  if (status.code == kUnknown) return 0;  // the service has answered: what it did is done
  // Whoever did not answer for the whole of a call's time may be about to do so again.
  const bool slow = status.code == kDeadlineExceeded || status.code == kCancelled;
  if (slow && !hurried) return kPatient;
  return slow ? std::clamp(call_timeout_ns, kBroken, kLongestSettleNs) : kBroken;
}

}  // namespace tacho
