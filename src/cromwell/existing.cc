#include "cromwell/existing.h"

#include <algorithm>
#include <optional>

#include "base/backoff.h"
#include "base/hex.h"
#include "base/log.h"
#include "base/text.h"
#include "base/time_text.h"
#include "base/units.h"
#include "net/google/bigquery_schema.h"
#include "net/http/digest.h"

namespace tacho {
namespace {

constexpr size_t kMostIds = 1'000, kMostStatuses = 20, kLongestWord = 100;
constexpr int64_t kDayNs = 86'400 * kNsPerSec;
constexpr int kMostAsks = 3;
constexpr size_t kKeyDigits = 16;

// What may stand in a literal without being escaped.
bool is_plain(const std::string& word) {
  return !word.empty() && word.size() <= kLongestWord && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
  });
}

// "column = 'a'" or "column IN ('a', 'b')".
std::string one_of(const char* column, const std::set<std::string>& words) {
  if (words.size() == 1) return std::string(column).append(" = '").append(*words.begin()).append("'");
  std::string text = std::string(column) + " IN (";
  for (const std::string& word : words) text.append(&word == &*words.begin() ? "'" : ", '").append(word).append("'");
  return text + ")";
}

// As row_key makes it. A line break is in none of them: a name with one would be another call's at worst, and both are
// sent.
constexpr const char* kKeySql =
    "SUBSTR(TO_HEX(SHA256(CONCAT(workflow_id, '\\n', task_call_name, '\\n', CAST(shard AS STRING), '\\n', "
    "CAST(attempt AS STRING), '\\n', execution_status))), 1, 16)";

std::optional<uint64_t> parse_key(std::string_view text) {
  return text.size() == kKeyDigits ? parse_hex<uint64_t>(text) : std::nullopt;
}

// Waits between tries; what is left is final, or temporary still.
template <class Ask>
BqVerdict ask_patiently(GoogleToken& token, const Ask& ask) {
  Backoff backoff;
  for (int tries = 1;; ++tries) {
    const BqVerdict verdict = ask();
    if (verdict.what == BqClass::token && tries == 1) {
      token.refuse();
      continue;
    }
    const bool temporary = verdict.what == BqClass::retry || verdict.what == BqClass::quota;
    if (!temporary || tries >= kMostAsks) return verdict;
    system_clock().wait({}, system_clock().monotonic_ns() + backoff.next_ms(0.5, verdict.retry_after_ms) * kNsPerMs);
  }
}

}  // namespace

uint64_t row_key(const MetadataRow& row) {
  return row_key(KeyParts{row.workflow_id, row.task_call_name, std::to_string(row.shard), std::to_string(row.attempt),
                          row.execution_status});
}

uint64_t row_key(const KeyParts& parts) {
  std::string text;
  for (const std::string& part : parts) text.append(text.empty() ? "" : "\n").append(valid_utf8(part));
  return *parse_key(hex(sha256(text)).substr(0, kKeyDigits));
}

void Expected::add(const MetadataRow& row) {
  keys_.push_back(row_key(row));
  first_ns_ = std::min(first_ns_, row.start_ns);
  last_ns_ = std::max(last_ns_, row.start_ns);
  const auto note = [&](std::set<std::string>& words, const std::string& word, size_t most) {
    if (words.contains(word)) return;
    if (is_plain(word) && words.size() < most) words.insert(word);
    else cannot_ask_ = true;
  };
  note(ids_, row.workflow_id, kMostIds);
  note(statuses_, row.execution_status, kMostStatuses);
}

const std::vector<uint64_t>& Expected::keys() {
  std::sort(keys_.begin(), keys_.end());
  keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
  return keys_;
}

std::string Expected::from_where(const std::string& table) const {
  const auto day = [](int64_t time_ns) { return std::string(IsoTime(time_ns).date()); };
  return " FROM `" + table + "` WHERE " + one_of("workflow_id", ids_) + " AND start_time >= TIMESTAMP('" +
         day(first_ns_) + "') AND start_time < TIMESTAMP('" + day(last_ns_ + kDayNs) + "') AND " +
         one_of("execution_status", statuses_);
}

std::string Expected::count_sql(const std::string& table) const {
  if (keys_.empty() || cannot_ask_) return {};
  return std::string("SELECT COUNT(DISTINCT ") + kKeySql + ")" + from_where(table);
}

std::string Expected::keys_sql(const std::string& table) const {
  if (keys_.empty() || cannot_ask_) return {};
  return std::string("SELECT DISTINCT ") + kKeySql + from_where(table);
}

std::optional<std::vector<uint64_t>> find_existing(Expected& expected, const SenderSettings& settings) {
  std::vector<uint64_t> found;
  const std::string table = settings.bq.project + "." + settings.bq.dataset + "." + settings.spec.table;
  const std::string sql = expected.count_sql(table);
  if (sql.empty()) return found;
  HttpClient http;
  GoogleToken token(http, settings.auth);
  auto client = BigQuery::open(http, settings.bq, &token);
  if (!client) return found;
  int64_t count = 0;
  const BqVerdict verdict = ask_patiently(token, [&] { return client->query_number(sql, count); });
  if (verdict.what == BqClass::not_found) return found;  // no table yet
  if (verdict.what == BqClass::retry || verdict.what == BqClass::quota) return std::nullopt;
  if (verdict.what != BqClass::done) {
    log::warn("whether the rows are there already cannot be asked for: " + verdict.message +
              " (grant bigquery.jobs.create, or use --no-skip-existing); they are sent");
    return found;
  }
  const size_t wanted = expected.keys().size();
  if (count == 0) return found;
  if (count > 0 && static_cast<uint64_t>(count) == wanted) return expected.keys();
  // Some are missing: lost on the way, or refused whenever they come. Only these go again, not what is there.
  const size_t most = wanted + static_cast<size_t>(count);
  const BqVerdict listed = ask_patiently(token, [&] {
    found.clear();
    return client->query_words(expected.keys_sql(table), most, [&](std::string_view word) {
      if (const auto key = parse_key(word)) found.push_back(*key);
    });
  });
  if (listed.what == BqClass::retry || listed.what == BqClass::quota) return std::nullopt;
  if (listed.what != BqClass::done) found.clear();
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace tacho
