#include "katib/reporter.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <filesystem>
#include <mutex>
#include <set>

#include "katib/journal.h"

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
  void run(Reporter& reporter, bool at_end = true) {
    reporter.flush(at_end);
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

// While training runs nobody asks for its rows, so that there is time for a call that is stored minutes late; not at its end.
TEST_F(ReporterTest, WhileTrainingRunsALateCommitIsWaitedForLonger) {
  append("late");
  db_->codes = {kDeadlineExceeded};
  db_->stored_after_gets = 20;
  run(*reporter_, false);
  EXPECT_EQ(values(), (std::multiset<std::string>{"late"}));
  EXPECT_EQ(db_->reports, 1) << "it is not sent again";
  EXPECT_GT(took_ns_, 3 * kLongestSettleNs);
  append("never stored");
  db_->codes = {kDeadlineExceeded};
  run(*reporter_);
  EXPECT_EQ(values(), (std::multiset<std::string>{"late", "never stored"}));
  EXPECT_LT(took_ns_, 2 * kLongestSettleNs);
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

}  // namespace
}  // namespace tacho
