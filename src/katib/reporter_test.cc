#include "katib/reporter.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <filesystem>
#include <mutex>
#include <set>

#include "katib/journal.h"
#include "katib/rpc/time_stamp.h"

namespace tacho {
namespace {

// A database that does what the test says.
class FakeDb final : public DbCalls {
 public:
  RpcStatus report(const std::string&, std::span<const MetricRow> sent, const std::string& id) override {
    const std::lock_guard lock(mutex);
    ++reports;
    ids.push_back(id);
    largest_call = std::max(largest_call, sent.size());
    size_t bytes = 0;
    for (const MetricRow& row : sent) bytes += row.name.size() + row.value.size() + row.time_stamp.size();
    largest_bytes = std::max(largest_bytes, bytes);
    if (!codes.empty()) {
      const int code = codes.front();
      codes.erase(codes.begin());
      if (store_although_failed) rows.insert(rows.end(), sent.begin(), sent.end());
      if (stored_after_gets > 0) late.assign(sent.begin(), sent.end());
      return {code, words};
    }
    for (const MetricRow& row : sent)
      if (row.value == poison) return {poison_code, poison_words};
    rows.insert(rows.end(), sent.begin(), sent.end());
    return {};
  }
  RpcStatus get(const std::string&, const std::string& metric, const DbClient::Visit& visit) override {
    const std::lock_guard lock(mutex);
    ++gets;
    if (!late.empty() && stored_after_gets-- == 1) {
      rows.insert(rows.end(), late.begin(), late.end());
      late.clear();
    }
    for (const MetricRow& row : rows)
      if (row.name == metric) visit(row);
    return {};
  }
  RpcStatus remove(const std::string&) override {
    rows.clear();
    return {};
  }
  RpcStatus healthy() override { return {}; }
  RpcStatus set_trial_status(const std::string&) override { return {}; }

  std::mutex mutex;
  std::vector<MetricRow> rows;
  std::vector<int> codes;   // of the next calls
  std::string words = "as the test says";
  bool store_although_failed = false;
  int stored_after_gets = 0;    // what failed is stored after all, when so many have looked
  std::vector<MetricRow> late;
  std::vector<std::string> ids;
  std::string poison = "never";
  int poison_code = kUnknown;
  std::string poison_words = "Error: bad row";
  int reports = 0, gets = 0;
  size_t largest_call = 0, largest_bytes = 0;
};

class ReporterTest : public ::testing::Test {
 protected:
  ReporterTest() : db_(std::make_shared<FakeDb>()), file_("") { reporter_ = make(); }
  std::unique_ptr<Reporter> make() {
    auto out = std::make_unique<Reporter>("t", ShapeRules{}, db_, state_, file_);
    out->add_stream("own", journal_, nullptr, true);
    out->resume();
    return out;
  }
  void append(const std::string& value, const std::string& name = "m") { journal_.append({std::string(kZeroTime), name, value, {}, {}}); }
  // Until it rests; pauses are skipped, not waited for.
  void run(Reporter& reporter) {
    reporter.flush(true);
    int64_t now_ns = 1;
    for (int i = 0; i < 100'000 && !reporter.resting(); ++i) {
      reporter.step(now_ns);
      if (reporter.resting()) break;
      pollfd ready{reporter.fd(), POLLIN, 0};
      if (reporter.deadline_ns() == INT64_MAX) ::poll(&ready, 1, 10'000);
      else now_ns = std::max(now_ns, reporter.deadline_ns());
    }
    EXPECT_TRUE(reporter.resting());
    took_ns_ = now_ns;
  }
  std::multiset<std::string> values() const {
    std::multiset<std::string> out;
    for (const MetricRow& row : db_->rows) out.insert(row.value);
    return out;
  }

  std::shared_ptr<FakeDb> db_;
  CollectState state_;
  StateFile file_;
  Journal journal_{""};
  int64_t took_ns_ = 0;  // by the clock that run() turned
  std::unique_ptr<Reporter> reporter_;
};

TEST_F(ReporterTest, ChunksAreLimited) {
  for (int i = 0; i < 12'000; ++i) append(std::to_string(i));
  run(*reporter_);
  EXPECT_EQ(db_->rows.size(), 12'000u);
  EXPECT_LE(db_->largest_call, Reporter::kMostRows);
  EXPECT_EQ(db_->rows.front().value, "0");
  EXPECT_EQ(db_->rows.back().value, "11999");
  EXPECT_EQ(db_->gets, 1) << "what was there before the first row of the metric";
}

TEST_F(ReporterTest, LargeValuesStayBelowAMebibyte) {
  for (int i = 0; i < 100; ++i) append(std::string(60'000, static_cast<char>('a' + i % 26)));
  run(*reporter_);
  EXPECT_EQ(db_->rows.size(), 100u);
  EXPECT_LE(db_->largest_bytes, Reporter::kMostBytes);
}

TEST_F(ReporterTest, NothingIsSentForNothing) {
  run(*reporter_);
  append(std::string(70'000, 'x'));  // cannot be stored
  run(*reporter_);
  EXPECT_EQ(db_->reports, 0);
}

TEST_F(ReporterTest, LostReplyIsNotSentTwice) {
  for (const int code : {14, 4, 13, 2}) {
    append("a");
    db_->codes = {code};
    db_->store_although_failed = true;
    run(*reporter_);
  }
  EXPECT_EQ(db_->rows.size(), 4u);
}

TEST_F(ReporterTest, FailedCallIsSentAgain) {
  for (const int code : {14, 4, 8, 10, 13, 2, 3, 12, 16, 7}) {
    append("a");
    db_->codes = {code, code};
    run(*reporter_);
  }
  EXPECT_EQ(db_->rows.size(), 10u);
}

TEST_F(ReporterTest, PoisonRowIsFoundAndDropped) {
  db_->poison = "bad";
  for (int i = 0; i < 1'000; ++i) append(i == 617 ? "bad" : std::to_string(i));
  run(*reporter_);
  EXPECT_EQ(db_->rows.size(), 999u);
  EXPECT_EQ(values().count("bad"), 0u);
  EXPECT_EQ(values().count("616"), 1u);
  EXPECT_EQ(values().count("618"), 1u);
  EXPECT_LT(db_->reports, 60);
}

TEST_F(ReporterTest, RowThatIsSaidToBeAtFaultIsFoundAtOnce) {
  db_->poison = "bad";
  db_->poison_code = kInvalidArgument;
  for (const int at : {617, 0, 999}) {
    db_->rows.clear();
    db_->reports = 0;
    for (int i = 0; i < 1'000; ++i) append(i == at ? "bad" : std::to_string(i));
    run(*reporter_);
    EXPECT_EQ(db_->rows.size(), 999u);
    EXPECT_EQ(values().count("bad"), 0u);
    EXPECT_LT(db_->reports, 60);
    EXPECT_LT(took_ns_, 15'000'000'000);
  }
  for (const char* value : {"1", "bad", "bad", "2", "bad"}) append(value);
  db_->rows.clear();
  run(*reporter_);
  EXPECT_EQ(values(), (std::multiset<std::string>{"1", "2"}));
}

// A service that refuses everything for a while is no reason to throw rows away quickly.
TEST_F(ReporterTest, ServiceThatRefusesAllForAWhile) {
  for (int i = 0; i < 100; ++i) append(std::to_string(i));
  db_->codes.assign(11, kInvalidArgument);  // six halvings, the first row twice, the one behind it, and the first again
  run(*reporter_);
  EXPECT_EQ(db_->rows.size(), 100u);
  db_->rows.clear();
  db_->poison = "bad";
  db_->poison_code = kInvalidArgument;
  for (int i = 0; i < 6; ++i) append("bad");
  run(*reporter_);
  EXPECT_EQ(db_->rows.size(), 0u);
  EXPECT_GT(took_ns_, 500'000'000'000) << "each was tried for two minutes";
}

TEST_F(ReporterTest, ClosedStreamIsNotRead) {
  Journal other("");
  other.append({std::string(kZeroTime), "x", "1", {}, {}});
  reporter_->add_stream("source", other, nullptr, false);
  run(*reporter_);
  EXPECT_TRUE(db_->rows.empty());
  reporter_->open_stream("source");
  run(*reporter_);
  EXPECT_EQ(db_->rows.size(), 1u);
}

// A collector that dies between any two steps and is made again from what was written down.
TEST_F(ReporterTest, RestartAtAnyMoment) {
  const std::string path = ::testing::TempDir() + "reporter-state";
  for (int stored = 0; stored < 2; ++stored) {
    std::filesystem::remove(path);
    auto db = std::make_shared<FakeDb>();
    Journal journal("");
    for (int i = 0; i < 20; ++i) journal.append({std::string(kZeroTime), "m", "same", {}, {}});
    {
      CollectState state{"t", "k", "", "", "", false, false, {}, {}, {}, {}, {}};
      StateFile file(path);
      Reporter first("t", {}, db, state, file);
      first.add_stream("own", journal, nullptr, true);
      first.resume();
      db->codes = {14};
      db->store_although_failed = stored == 1;
      first.flush(false);
      for (int calls = 0; calls < 2; ++calls) {  // what was there before; then the report is answered, but nobody takes the answer
        first.step(1);
        pollfd ready{first.fd(), POLLIN, 0};
        ASSERT_EQ(::poll(&ready, 1, 10'000), 1);
      }
    }
    StateFile file(path);
    auto state = file.load("t", "k");
    ASSERT_TRUE(state);
    ASSERT_TRUE(state->pending);
    EXPECT_EQ(state->pending->rows, 20);
    Reporter second("t", {}, db, *state, file);
    second.add_stream("own", journal, nullptr, true);
    second.resume();
    run(second);
    EXPECT_EQ(db->rows.size(), 20u) << stored;
  }
  std::filesystem::remove(path);
}

// A source of which a turn may pass over much without a row.
class SparseReader final : public Reader {
 public:
  Result<bool> read(bool, size_t, const Take& take) override {
    if (turn_ == 6) return false;
    if (++turn_ % 3 == 0) take({std::string(kZeroTime), "m", std::to_string(turn_), {}, {}});
    return turn_ < 6;
  }
  std::string position() const override { return std::to_string(turn_); }
  Status seek(std::string_view position) override {
    turn_ = position.empty() ? 0 : std::stoi(std::string(position));
    return ok();
  }
  std::vector<std::string> folders() const override { return {}; }

 private:
  int turn_ = 0;
};

TEST_F(ReporterTest, RowsFarApartAreReadAgain) {
  CollectState state{"t", "k", "", "", "", false, false, {}, {}, {}, {}, {}};
  SparseReader source;
  {
    Reporter first("t", {}, db_, state, file_);
    first.add_stream("source", source, nullptr, true);
    first.resume();
    db_->codes = {14};
    db_->store_although_failed = true;
    first.flush(false);
    for (int calls = 0; calls < 2; ++calls) {  // what was there before; then the report is answered, but nobody takes the answer
      first.step(1);
      pollfd ready{first.fd(), POLLIN, 0};
      ASSERT_EQ(::poll(&ready, 1, 10'000), 1);
    }
  }
  ASSERT_TRUE(state.pending);
  Reporter second("t", {}, db_, state, file_);
  second.add_stream("source", source, nullptr, true);
  second.resume();
  run(second);
  EXPECT_EQ(values(), (std::multiset<std::string>{"3", "6"}));
}

TEST_F(ReporterTest, NewAttemptReplaces) {
  append("old");
  run(*reporter_);
  reporter_->begin_anew("own");
  reporter_->delete_first();
  run(*reporter_);
  EXPECT_EQ(values(), (std::multiset<std::string>{"old"}));
  EXPECT_EQ(state_.acknowledged["m"], 1);
}

TEST(Pause, DoublesWithinItsLimits) {
  ReportPause pause;
  for (const double seconds : {0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0}) {
    const double got = static_cast<double>(pause.next_ns(false)) * 1e-9;
    EXPECT_GE(got, seconds * 0.79);
    EXPECT_LE(got, seconds * 1.21);
  }
  pause.reset();
  EXPECT_LT(pause.next_ns(false), 700'000'000);
  EXPECT_GT(pause.next_ns(true), 20'000'000'000);
}

std::vector<MetricRow> rows_at(std::initializer_list<std::pair<const char*, const char*>> rows) {
  std::vector<MetricRow> out;
  for (const auto& [time, value] : rows) out.push_back({time, "m", value, {}, {}});
  return out;
}

using Verdict = StoredCheck::Verdict;
Verdict judge(const std::vector<MetricRow>& in_db, const std::vector<MetricRow>& sent, const std::vector<MetricRow>& before) {
  RowDigest digest;
  for (const MetricRow& row : before) digest.add(*parse_time_stamp_us(row.time_stamp), row.value);
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
  EXPECT_EQ(judge(rows_at({{"0001-01-01T00:00:00Z", "1"}, {"0001-01-01T00:00:00Z", "9"}}), sent, own), Verdict::not_stored);
  // The same row once more was lost, and somebody wrote another.
  EXPECT_EQ(judge(rows_at({{"0001-01-01T00:00:00Z", "1"}, {"0001-01-01T00:00:00Z", "9"}}), own, own), Verdict::not_stored);
  EXPECT_EQ(judge(rows_at({{"0001-01-01T00:00:00Z", "1"}, {"0001-01-01T00:00:00Z", "9"}, {"0001-01-01T00:00:00Z", "1"}}), own, own), Verdict::stored);
}

TEST(Doubt, SeveralWriters) {
  const auto sent = rows_at({{"2026-11-15T09:30:00.0000019Z", "1"}, {"2026-11-15T09:30:01Z", "2"}});
  // Cut, rounded, in another order, among rows of others.
  EXPECT_EQ(judge(rows_at({{"2026-11-15T09:30:01Z", "2"}, {"2026-11-15T09:30:00.000002Z", "1"}, {"2026-11-15T09:29:00Z", "1"}}), sent, {}), Verdict::stored);
  EXPECT_EQ(judge(rows_at({{"2026-11-15T09:30:01Z", "2"}, {"2026-11-15T09:30:00.000005Z", "1"}, {"2026-11-15T09:29:00Z", "1"}}), sent, {}), Verdict::not_stored);
  EXPECT_EQ(judge(rows_at({{"2026-11-15T09:30:01Z", "2"}, {"2026-11-15T09:30:01Z", "2"}, {"2026-11-15T09:30:01Z", "2"}}), sent, {}), Verdict::not_stored);
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
      return std::any_of(sent.begin(), sent.end(), [&](const MetricRow& b) { return a.value == b.value && a.time_stamp == b.time_stamp; });
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
  for (int i = 0; i < 1000; ++i) digest.add(i * 1000, std::string(static_cast<size_t>(i % 40), 'x') + std::to_string(i));
  const auto read = RowDigest::parse(digest.text());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->text(), digest.text());
  EXPECT_TRUE(read->is_older_than(999'001));
  EXPECT_FALSE(read->is_older_than(999'000));
  for (const char* text : {"", "1", "1 2 3", "-1 0"}) EXPECT_FALSE(RowDigest::parse(text));
}

// An old row of the Trial, from an attempt whose state is gone, stands for the one that was lost.
TEST_F(ReporterTest, OldRowsDoNotStandForLostOnes) {
  for (const char* value : {"1", "2", "3"}) db_->rows.push_back({std::string(kZeroTime), "m", value, {}, {}});
  for (const char* value : {"1", "2", "3"}) append(value);
  db_->codes = {14};  // and nothing is stored
  run(*reporter_);
  EXPECT_EQ(values(), (std::multiset<std::string>{"1", "1", "2", "2", "3", "3"}));
}

TEST_F(ReporterTest, RowsOfAnotherWriterDoNotStandForLostOnes) {
  append("1");
  run(*reporter_);
  db_->rows.push_back({std::string(kZeroTime), "m", "9", {}, {}});
  append("2");
  db_->codes = {14};
  run(*reporter_);
  EXPECT_EQ(values(), (std::multiset<std::string>{"1", "2", "9"}));
}

// A call that was given up is stored while it is being looked for.
TEST_F(ReporterTest, LateCommitIsWaitedFor) {
  for (const int after : {2, 3, 5}) {
    append("late" + std::to_string(after));
    db_->codes = {kDeadlineExceeded};
    db_->stored_after_gets = after;
    run(*reporter_);
  }
  EXPECT_EQ(db_->rows.size(), 3u);
}

TEST_F(ReporterTest, TheSameRowsHaveTheSameId) {
  append("a");
  db_->codes = {14, 4, 13};
  run(*reporter_);
  append("b");
  run(*reporter_);
  ASSERT_EQ(db_->ids.size(), 5u);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(db_->ids[static_cast<size_t>(i)], db_->ids[0]);
  EXPECT_NE(db_->ids[4], db_->ids[0]);
}

// Three hours of a database that takes nothing: in words that are known, and in others.
TEST_F(ReporterTest, ReadOnlyDatabaseLosesNothing) {
  for (const char* words : {"Error 1290 (HY000): The MySQL server is running with the --read-only option so it cannot execute this statement",
                            "pq: cannot execute INSERT in a read-only transaction", "Error 9999: nobody knows"}) {
    db_->rows.clear();
    for (int i = 0; i < 50; ++i) append(std::to_string(i));
    db_->words = words;
    db_->codes.assign(500, kUnknown);
    run(*reporter_);
    EXPECT_EQ(values().size(), 50u) << words;
    EXPECT_GT(took_ns_, 3600'000'000'000) << words;
    for (int i = 0; i < 50; ++i) EXPECT_EQ(values().count(std::to_string(i)), 1u) << words << i;
  }
}

// Of the last row nobody tells whether it is its fault: it is kept, also when rows before it were taken.
TEST_F(ReporterTest, LastRowIsKeptUntilOthersTell) {
  for (int i = 0; i < 10; ++i) append(std::to_string(i));
  db_->poison = "9";
  reporter_->flush(true);
  int64_t now_ns = 1;
  for (int i = 0; i < 2000 && now_ns < 3600'000'000'000; ++i) {
    reporter_->step(now_ns);
    pollfd ready{reporter_->fd(), POLLIN, 0};
    if (reporter_->deadline_ns() == INT64_MAX) ::poll(&ready, 1, 10'000);
    else now_ns = std::max(now_ns, reporter_->deadline_ns());
  }
  EXPECT_FALSE(reporter_->resting());
  EXPECT_EQ(db_->rows.size(), 9u);
  db_->poison = "never";
  run(*reporter_);
  EXPECT_EQ(db_->rows.size(), 10u);
}

// The database takes rows again just when the row behind the suspect is tried: the suspect gets a second look.
TEST_F(ReporterTest, InnocentSuspectIsNotDropped) {
  for (int count = 1; count < 40; ++count) {
    db_->rows.clear();
    for (int i = 0; i < 4; ++i) append(std::to_string(i));
    db_->codes.assign(static_cast<size_t>(count), count % 2 == 0 || count > 9 ? kUnknown : kInvalidArgument);
    run(*reporter_);
    ASSERT_EQ(values(), (std::multiset<std::string>{"0", "1", "2", "3"})) << count;
  }
}

TEST(Refusal, ByCodeAndWords) {
  const auto fault = [](int code, const char* words) { return fault_of({code, words}); };
  EXPECT_EQ(fault(0, ""), Fault::none);
  EXPECT_EQ(fault(kInvalidArgument, "row 1 of the report: has no metric"), Fault::rows);
  EXPECT_EQ(fault(kUnknown, "db:6789: Error 1406 (22001): Data too long for column 'metric_name' at row 1"), Fault::rows);
  EXPECT_EQ(fault(kUnknown, "pq: invalid byte sequence for encoding \"UTF8\": 0x00"), Fault::rows);
  EXPECT_EQ(fault(kUnknown, "Error parsing start time: parsing time \"x\" as RFC3339"), Fault::rows);
  EXPECT_EQ(fault(kUnknown, "Error 1114 (HY000): The table 'observation_logs' is full"), Fault::service);
  EXPECT_EQ(fault(kUnknown, "Error 1836: Running in read-only mode"), Fault::service);
  EXPECT_EQ(fault(kUnknown, "dial tcp 10.0.0.1:3306: connect: connection refused"), Fault::service);
  EXPECT_EQ(fault(kUnknown, "something else"), Fault::unclear);
  EXPECT_EQ(fault(14, "something else"), Fault::service);
  EXPECT_TRUE(was_never_sent({14, "x:1: failed to connect to all addresses; last error: UNKNOWN: Connection refused"}));
  EXPECT_FALSE(was_never_sent({14, "x:1: Socket closed"}));
  EXPECT_EQ(settle_ns({kUnknown, ""}, 60'000'000'000), 0);
  EXPECT_EQ(settle_ns({kDeadlineExceeded, ""}, 30'000'000'000), 30'000'000'000);
}

// What another user of the folder wrote instead of the state: no chunk is made of it that reaches behind its rows.
TEST(State, WhatIsTooDeepOrTooMuchIsRefused) {
  CollectState state{"t", "k", "", "", "", false, false, {}, {}, {}, {}, {}};
  const std::string text = format_state(state), from = "\"watch\":null";
  const size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << text;
  const auto with = [&](const std::string& watch) { return std::string(text).replace(at, from.size(), "\"watch\":" + watch); };
  EXPECT_TRUE(parse_collect_state(with(std::string(20, '[') + std::string(20, ']'))));
  EXPECT_FALSE(parse_collect_state(with(std::string(400'000, '[') + std::string(400'000, ']'))));
  std::string many = "[0";
  for (int i = 0; i < 3'000'000; i++) many += ",0";
  EXPECT_FALSE(parse_collect_state(with(many + "]")));
  // As many event files as are read, in each position that is kept.
  std::string files;
  for (int i = 0; i < 20'000; i++)
    files += (i == 0 ? "" : ",") + (R"({"device":64769,"inode":1234567,"offset":123456,"head":"0123456789abcdef","values":100,"path":"train/events.out.tfevents.)" + std::to_string(1'700'000'000 + i) + R"(.host"})");
  state.watch_position = "{\"files\":[" + files + "],\"tags\":[0,1]}";
  state.streams["own"] = {state.watch_position, 5};
  state.pending = PendingChunk{"own", state.watch_position, 5, false, {}, 0, 5, {1}, "abc"};
  const auto large = parse_collect_state(format_state(state));
  ASSERT_TRUE(large) << large.error().message();
  EXPECT_EQ(large->streams.at("own").rows, 5);
}

TEST(State, ChunksThatCannotBeAreRefused) {
  CollectState state{"t", "k", "", "", "", false, false, {}, {}, {}, {}, {}};
  state.pending = PendingChunk{"own", "", 5, false, {}, 0, 5, {1}, "abc"};
  ASSERT_TRUE(parse_collect_state(format_state(state)));
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{{"\"rows\":5", "\"rows\":1000000000000"},
                                                                                 {"\"done\":0", "\"done\":-3"},
                                                                                 {"\"sending\":5", "\"sending\":99999999"},
                                                                                 {"\"skipped\":[1]", "\"skipped\":[-1]"},
                                                                                 {"\"id\":\"abc\"", "\"id\":\"a\\nb\""}}) {
    std::string text = format_state(state);
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    EXPECT_FALSE(parse_collect_state(text.replace(at, from.size(), to))) << to;
  }
}

}  // namespace
}  // namespace tacho
