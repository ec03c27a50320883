#include "cromwell/existing.h"

#include <algorithm>

#include "base/log.h"
#include "base/units.h"
#include "codec/iso_time.h"
#include "net/retry.h"

namespace tacho {
namespace {

constexpr size_t kMostIds = 1'000;
constexpr int64_t kDayNs = 86'400 * kNsPerSec;
constexpr int64_t kStreamingBackNs = 1825 * kDayNs;
constexpr int kTries = 3;

// What may stand in a literal without being escaped.
bool is_plain(const std::string& id) {
  return !id.empty() && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
  });
}

}  // namespace

void Expected::add(const MetadataRow& row, int64_t now_ns) {
  if (row.start_ns < now_ns - kStreamingBackNs) return;  // goes to a file, never into the table
  ++rows_;
  first_ns_ = std::min(first_ns_, row.start_ns);
  last_ns_ = std::max(last_ns_, row.start_ns);
  if (!is_plain(row.workflow_id)) odd_id_ = true;
  else if (ids_.size() < kMostIds || ids_.contains(row.workflow_id)) ids_.insert(row.workflow_id);
  else too_many_ = true;
}

std::string Expected::sql(const std::string& table) const {
  if (rows_ == 0 || too_many_ || odd_id_) return {};
  std::string which = "workflow_id = '" + *ids_.begin() + "'";
  if (ids_.size() > 1) {
    which = "workflow_id IN (";
    for (const std::string& id : ids_) which.append(id == *ids_.begin() ? "'" : ", '").append(id).append("'");
    which += ")";
  }
  const auto day = [](int64_t time_ns) { return std::string(IsoTime(time_ns).date()); };
  return "SELECT COUNT(*) FROM `" + table + "` WHERE " + which + " AND start_time >= TIMESTAMP('" + day(first_ns_) +
         "') AND start_time < TIMESTAMP('" + day(last_ns_ + kDayNs) + "')";
}

Existing count_existing(const Expected& expected, const SenderSettings& settings) {
  const std::string sql = expected.sql(settings.bq.project + "." + settings.bq.dataset + "." + settings.spec.table);
  if (sql.empty()) return Existing::some;
  HttpClient http;
  GoogleToken token(http, settings.auth);
  auto client = BigQuery::open(http, settings.bq, &token);
  if (!client) return Existing::some;
  Backoff backoff;
  for (int tries = 1;; ++tries) {
    int64_t count = 0;
    const BqVerdict verdict = client->query_number(sql, count);
    if (verdict.what == BqClass::done)
      return count >= 0 && static_cast<uint64_t>(count) >= expected.rows() ? Existing::all : Existing::some;
    if (verdict.what == BqClass::not_found) return Existing::some;  // no table yet
    if (verdict.what == BqClass::token && tries == 1) {
      token.refuse();
      continue;
    }
    const bool temporary = verdict.what == BqClass::retry || verdict.what == BqClass::quota;
    if (!temporary) {
      log::warn("whether the rows are there already cannot be asked for: " + verdict.message +
                " (grant bigquery.jobs.create, or use --no-skip-existing); they are sent");
      return Existing::some;
    }
    if (tries >= kTries) return Existing::unknown_now;
    system_clock().wait({}, system_clock().monotonic_ns() + backoff.next_ms(0.5, verdict.retry_after_ms) * kNsPerMs);
  }
}

}  // namespace tacho
