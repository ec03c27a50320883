#include "katib/collect/report_call.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "base/units.h"
#include "katib/collect/refusal.h"
#include "katib/collect/row_sender.h"

namespace tacho {
namespace {

std::vector<MetricRow> rows_at(std::initializer_list<std::pair<const char*, const char*>> rows) {
  std::vector<MetricRow> out;
  for (const auto& [time, value] : rows) out.push_back({time, "m", value, {}, {}});
  return out;
}

using Verdict = StoredCheck::Verdict;
Verdict judge(const std::vector<MetricRow>& in_db, const std::vector<MetricRow>& sent,
              const std::vector<MetricRow>& before) {
  RowDigest digest;
  for (const MetricRow& row : before) digest.add(*row.time_stamp.us(), row.value);
  StoredCheck check(sent, &digest);
  for (const MetricRow& row : in_db) check.see(row);
  return check.verdict();
}

TEST(Doubt, RowsTell) {
  const auto sent = rows_at({{"2026-11-15T09:30:00Z", "1"}});
  EXPECT_EQ(judge(rows_at({}), sent, rows_at({})), Verdict::not_stored);
  EXPECT_EQ(judge(sent, sent, sent), Verdict::not_stored) << "it is an earlier one";
  EXPECT_EQ(judge(sent, sent, rows_at({})), Verdict::stored);
}

// The number of rows is right, but they are somebody else's.
TEST(Doubt, AnotherRowInItsPlaceIsNotTheRow) {
  const auto own = rows_at({{"0001-01-01T00:00:00Z", "1"}}), sent = rows_at({{"0001-01-01T00:00:00Z", "2"}});
  EXPECT_EQ(judge(rows_at({{"0001-01-01T00:00:00Z", "1"}, {"0001-01-01T00:00:00Z", "9"}}), sent, own),
            Verdict::not_stored);
  // The same row once more was lost, and somebody wrote another.
  EXPECT_EQ(judge(rows_at({{"0001-01-01T00:00:00Z", "1"}, {"0001-01-01T00:00:00Z", "9"}}), own, own),
            Verdict::not_stored);
  EXPECT_EQ(
      judge(rows_at({{"0001-01-01T00:00:00Z", "1"}, {"0001-01-01T00:00:00Z", "9"}, {"0001-01-01T00:00:00Z", "1"}}), own,
            own),
      Verdict::stored);
}

TEST(Doubt, SeveralWriters) {
  const auto sent = rows_at({{"2026-11-15T09:30:00.0000019Z", "1"}, {"2026-11-15T09:30:01Z", "2"}});
  // Cut, rounded, in another order, among rows of others.
  EXPECT_EQ(
      judge(
          rows_at({{"2026-11-15T09:30:01Z", "2"}, {"2026-11-15T09:30:00.000002Z", "1"}, {"2026-11-15T09:29:00Z", "1"}}),
          sent, {}),
      Verdict::stored);
  EXPECT_EQ(
      judge(
          rows_at({{"2026-11-15T09:30:01Z", "2"}, {"2026-11-15T09:30:00.000005Z", "1"}, {"2026-11-15T09:29:00Z", "1"}}),
          sent, {}),
      Verdict::not_stored);
  EXPECT_EQ(
      judge(rows_at({{"2026-11-15T09:30:01Z", "2"}, {"2026-11-15T09:30:01Z", "2"}, {"2026-11-15T09:30:01Z", "2"}}),
            sent, {}),
      Verdict::not_stored);
}

// Random histories beside an oracle that knows what was stored: never wrong where it is sure.
TEST(Doubt, NeverWrongWhereItIsSure) {
  std::minstd_rand dice(7);
  const auto row = [&](int values) {
    static const std::array times{"0001-01-01T00:00:00Z", "2026-11-15T09:30:00Z", "2026-11-15T09:30:00.5Z"};
    return MetricRow{times[dice() % times.size()], "m", std::to_string(dice() % static_cast<unsigned>(values)), {}, {}};
  };
  int sure = 0;
  for (int turn = 0; turn < 20'000; ++turn) {
    std::vector<MetricRow> before, sent, others;
    const int values = 1 + static_cast<int>(dice() % 40);
    for (auto i = dice() % 30; i > 0; --i) before.push_back(row(values));
    for (auto i = 1 + dice() % 10; i > 0; --i) sent.push_back(row(values));
    for (auto i = dice() % 4; i > 0; --i) others.push_back(row(1000));
    const bool stored = dice() % 2 == 0;
    std::vector<MetricRow> in_db = before;
    in_db.insert(in_db.end(), others.begin(), others.end());
    if (stored) in_db.insert(in_db.end(), sent.begin(), sent.end());
    std::shuffle(in_db.begin(), in_db.end(), dice);
    // Somebody else's row that is just one of ours cannot be told from it.
    const bool same = std::any_of(others.begin(), others.end(), [&](const MetricRow& a) {
      return std::any_of(sent.begin(), sent.end(),
                         [&](const MetricRow& b) { return a.value == b.value && a.time_stamp == b.time_stamp; });
    });
    const Verdict verdict = judge(in_db, sent, before);
    if (same || verdict == Verdict::unclear) continue;
    ++sure;
    ASSERT_EQ(verdict == Verdict::stored, stored) << turn;
  }
  EXPECT_GT(sure, 15'000);
}

TEST(Doubt, DigestOutlivesARestart) {
  RowDigest digest;
  for (int i = 0; i < 1000; ++i)
    digest.add(i * 1000, std::string(static_cast<size_t>(i % 40), 'x') + std::to_string(i));
  const auto read = RowDigest::parse(digest.text());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->text(), digest.text());
  EXPECT_TRUE(read->is_older_than(999'001));
  EXPECT_FALSE(read->is_older_than(999'000));
  for (const char* text : {"", "1", "1 2 3", "-1 0"}) EXPECT_FALSE(RowDigest::parse(text));
}

// The hash is in state files of collectors before this one: letter by letter, as it was first written.
uint64_t plain_hash(int64_t time_us, const std::string& value) {
  const auto mixed = [](uint64_t a, uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  };
  uint64_t hash = mixed(static_cast<uint64_t>(time_us) ^ 0x9E3779B97F4A7C15, value.size() ^ 0xE7037ED1A0B428DB);
  for (size_t at = 0; at < value.size(); at += 8) {
    uint64_t word = 0;
    for (size_t i = 0; i < 8 && at + i < value.size(); ++i)
      word |= uint64_t{static_cast<unsigned char>(value[at + i])} << 8 * i;
    hash = mixed(hash ^ word, 0xA0761D6478BD642F);
  }
  return mixed(hash ^ 0xE7037ED1A0B428DB, 0x9E3779B97F4A7C15);
}

TEST(Doubt, TheDigestOfAValueStaysWhatItWas) {
  std::mt19937_64 random(1);
  for (int turn = 0; turn < 2'000; ++turn) {
    std::string value(random() % 30, ' ');
    for (char& c : value) c = static_cast<char>(random());
    const auto time_us = static_cast<int64_t>(random() >> 8);
    RowDigest digest;
    digest.add(time_us, value);
    const uint64_t hash = plain_hash(time_us, value);
    ASSERT_EQ(digest.bucket(hash >> 59), hash) << turn;
  }
  RowDigest digest;
  digest.add(1'763'200'000'000'000, "0.912345");
  EXPECT_NE(digest.text().find("1 1763200000000000 "), std::string::npos);
}

TEST(Refusal, ByCodeAndWords) {
  const auto fault = [](int code, const char* words) { return fault_of({code, words}); };
  EXPECT_EQ(fault(0, ""), Fault::none);
  EXPECT_EQ(fault(kInvalidArgument, "row 1 of the report: has no metric"), Fault::rows);
  EXPECT_EQ(fault(kUnknown, "db:6789: Error 1406 (22001): Data too long for column 'metric_name' at row 1"),
            Fault::rows);
  EXPECT_EQ(fault(kUnknown, "pq: invalid byte sequence for encoding \"UTF8\": 0x00"), Fault::rows);
  EXPECT_EQ(fault(kUnknown,
                  "pq: character with byte sequence 0xe6 0x97 0xa5 in encoding \"UTF8\" has no equivalent in encoding "
                  "\"LATIN1\""),
            Fault::rows);
  EXPECT_EQ(fault(kUnknown, "Error parsing start time: parsing time \"x\" as RFC3339"), Fault::rows);
  EXPECT_EQ(fault(kUnknown, "Error 1114 (HY000): The table 'observation_logs' is full"), Fault::service);
  EXPECT_EQ(fault(kUnknown, "Error 1836: Running in read-only mode"), Fault::service);
  EXPECT_EQ(fault(kUnknown, "dial tcp 10.0.0.1:3306: connect: connection refused"), Fault::service);
  EXPECT_EQ(fault(kUnknown, "something else"), Fault::unclear);
  EXPECT_EQ(fault(14, "something else"), Fault::service);
  EXPECT_TRUE(was_never_sent({14, "x:1: failed to connect to all addresses; last error: UNKNOWN: Connection refused"}));
  EXPECT_FALSE(was_never_sent({14, "x:1: Socket closed"}));
  EXPECT_EQ(settle_ns({kUnknown, ""}, 60'000'000'000, true), 0);
  EXPECT_EQ(settle_ns({kDeadlineExceeded, ""}, 30'000'000'000, true), 30'000'000'000);
  EXPECT_EQ(settle_ns({kDeadlineExceeded, ""}, 300'000'000'000, true), kLongestSettleNs);
  EXPECT_GT(settle_ns({kDeadlineExceeded, ""}, 30'000'000'000, false), 10 * kLongestSettleNs)
      << "training runs: nobody waits for the rows";
  EXPECT_LT(settle_ns({14, "Socket closed"}, 30'000'000'000, false), kLongestSettleNs);
}

TEST(Pause, DoublesWithinItsLimits) {
  ReportPause pause;
  for (const double seconds : {0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0}) {
    const double got = as_seconds(pause.next_ns(false));
    EXPECT_GE(got, seconds * 0.79);
    EXPECT_LE(got, seconds * 1.21);
  }
  pause.reset();
  EXPECT_LT(pause.next_ns(false), 700'000'000);
  EXPECT_GT(pause.next_ns(true), 20'000'000'000);
}

}  // namespace
}  // namespace tacho
