#include "katib/collect/row_sender.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/katib_row_sender.h"

namespace tacho {
namespace {

TEST_F(RowSenderTest, ChunksAreLimited) {
  for (int i = 0; i < 12'000; ++i) append(std::to_string(i));
  run(*sender_);
  EXPECT_EQ(db_->rows.size(), 12'000u);
  EXPECT_LE(db_->largest_call, RowSender::kMostRows);
  EXPECT_EQ(db_->rows.front().value, "0");
  EXPECT_EQ(db_->rows.back().value, "11999");
  EXPECT_EQ(db_->gets, 1) << "what was there before the first row of the metric";
}

TEST_F(RowSenderTest, LargeValuesStayBelowAMebibyte) {
  for (int i = 0; i < 100; ++i) append(std::string(60'000, static_cast<char>('a' + i % 26)));
  run(*sender_);
  EXPECT_EQ(db_->rows.size(), 100u);
  EXPECT_LE(db_->largest_bytes, RowSender::kMostBytes);
}

TEST_F(RowSenderTest, NothingIsSentForNothing) {
  run(*sender_);
  append(std::string(70'000, 'x'));  // cannot be stored
  run(*sender_);
  EXPECT_EQ(db_->reports, 0);
}

TEST_F(RowSenderTest, LostReplyIsNotSentTwice) {
  for (const int code : {14, 4, 13, 2}) {
    append("a");
    db_->codes = {code};
    db_->store_although_failed = true;
    run(*sender_);
  }
  EXPECT_EQ(db_->rows.size(), 4u);
}

TEST_F(RowSenderTest, FailedCallIsSentAgain) {
  for (const int code : {14, 4, 8, 10, 13, 2, 3, 12, 16, 7}) {
    append("a");
    db_->codes = {code, code};
    run(*sender_);
  }
  EXPECT_EQ(db_->rows.size(), 10u);
}

TEST_F(RowSenderTest, PoisonRowIsFoundAndDropped) {
  db_->poison = "bad";
  for (int i = 0; i < 1'000; ++i) append(i == 617 ? "bad" : std::to_string(i));
  run(*sender_);
  EXPECT_EQ(db_->rows.size(), 999u);
  EXPECT_EQ(values().count("bad"), 0u);
  EXPECT_EQ(values().count("616"), 1u);
  EXPECT_EQ(values().count("618"), 1u);
  EXPECT_LT(db_->reports, 60);
}

TEST_F(RowSenderTest, RowThatIsSaidToBeAtFaultIsFoundAtOnce) {
  db_->poison = "bad";
  db_->poison_code = kInvalidArgument;
  for (const int at : {617, 0, 999}) {
    db_->rows.clear();
    db_->reports = 0;
    for (int i = 0; i < 1'000; ++i) append(i == at ? "bad" : std::to_string(i));
    run(*sender_);
    EXPECT_EQ(db_->rows.size(), 999u);
    EXPECT_EQ(values().count("bad"), 0u);
    EXPECT_LT(db_->reports, 60);
    EXPECT_LT(took_ns_, 15'000'000'000);
  }
  for (const char* value : {"1", "bad", "bad", "2", "bad"}) append(value);
  db_->rows.clear();
  run(*sender_);
  EXPECT_EQ(values(), (std::multiset<std::string>{"1", "2"}));
}

// A service that refuses everything for a while is no reason to throw rows away quickly.
TEST_F(RowSenderTest, ServiceThatRefusesAllForAWhile) {
  for (int i = 0; i < 100; ++i) append(std::to_string(i));
  db_->codes.assign(11, kInvalidArgument);  // six halvings, the first row twice, the one behind it, and the first again
  run(*sender_);
  EXPECT_EQ(db_->rows.size(), 100u);
  db_->rows.clear();
  db_->poison = "bad";
  db_->poison_code = kInvalidArgument;
  for (int i = 0; i < 6; ++i) append("bad");
  run(*sender_);
  EXPECT_EQ(db_->rows.size(), 0u);
  EXPECT_GT(took_ns_, 500'000'000'000) << "each was tried for two minutes";
}

TEST_F(RowSenderTest, ClosedStreamIsNotRead) {
  Journal other("");
  other.append({std::string(kZeroTime), "x", "1", {}, {}});
  sender_->add_stream("source", other, nullptr, false);
  run(*sender_);
  EXPECT_TRUE(db_->rows.empty());
  sender_->open_stream("source");
  run(*sender_);
  EXPECT_EQ(db_->rows.size(), 1u);
}

// A collector that dies between any two steps and is made again from what was written down.
TEST_F(RowSenderTest, RestartAtAnyMoment) {
  const std::string path = ::testing::TempDir() + "sender-state";
  for (int stored = 0; stored < 2; ++stored) {
    std::filesystem::remove(path);
    auto db = std::make_shared<FakeDb>();
    Journal journal("");
    for (int i = 0; i < 20; ++i) journal.append({std::string(kZeroTime), "m", "same", {}, {}});
    {
      CollectState state{"t", "k", "", "", "", false, false, {}, {}, {}, {}, {}};
      StateFile file(path);
      RowSender first("t", {}, db, state, file);
      first.add_stream("own", journal, nullptr, true);
      first.resume();
      db->codes = {14};
      db->store_although_failed = stored == 1;
      stop_before_the_answer(first);
    }
    StateFile file(path);
    auto state = file.load("t", "k");
    ASSERT_TRUE(state);
    ASSERT_TRUE(state->pending);
    EXPECT_EQ(state->pending->rows, 20);
    RowSender second("t", {}, db, *state, file);
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

TEST_F(RowSenderTest, RowsFarApartAreReadAgain) {
  CollectState state{"t", "k", "", "", "", false, false, {}, {}, {}, {}, {}};
  SparseReader source;
  {
    RowSender first("t", {}, db_, state, file_);
    first.add_stream("source", source, nullptr, true);
    first.resume();
    db_->codes = {14};
    db_->store_although_failed = true;
    stop_before_the_answer(first);
  }
  ASSERT_TRUE(state.pending);
  RowSender second("t", {}, db_, state, file_);
  second.add_stream("source", source, nullptr, true);
  second.resume();
  run(second);
  EXPECT_EQ(values(), (std::multiset<std::string>{"3", "6"}));
}

TEST_F(RowSenderTest, NewAttemptReplaces) {
  append("old");
  run(*sender_);
  sender_->begin_anew("own");
  sender_->delete_first();
  run(*sender_);
  EXPECT_EQ(values(), (std::multiset<std::string>{"old"}));
  EXPECT_EQ(state_.acknowledged["m"], 1);
}

}  // namespace
}  // namespace tacho
