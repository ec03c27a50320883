// What the sender does when it is not known whether rows were stored, or whose fault it is that they were not.
#include <gtest/gtest.h>

#include "support/katib_row_sender.h"

namespace tacho {
namespace {

// An old row of the Trial, from an attempt whose state is gone, stands for the one that was lost.
TEST_F(RowSenderTest, OldRowsDoNotStandForLostOnes) {
  for (const char* value : {"1", "2", "3"}) db_->rows.push_back({std::string(kZeroTime), "m", value, {}, {}});
  for (const char* value : {"1", "2", "3"}) append(value);
  db_->codes = {14};  // and nothing is stored
  run(*sender_);
  EXPECT_EQ(values(), (std::multiset<std::string>{"1", "1", "2", "2", "3", "3"}));
}

TEST_F(RowSenderTest, RowsOfAnotherWriterDoNotStandForLostOnes) {
  append("1");
  run(*sender_);
  db_->rows.push_back({std::string(kZeroTime), "m", "9", {}, {}});
  append("2");
  db_->codes = {14};
  run(*sender_);
  EXPECT_EQ(values(), (std::multiset<std::string>{"1", "2", "9"}));
}

// A call that was given up is stored while it is being looked for.
TEST_F(RowSenderTest, LateCommitIsWaitedFor) {
  for (const int after : {2, 3, 5}) {
    append("late" + std::to_string(after));
    db_->codes = {kDeadlineExceeded};
    db_->stored_after_gets = after;
    run(*sender_);
  }
  EXPECT_EQ(db_->rows.size(), 3u);
}

// While training runs nobody asks for its rows, so that there is time for a call that is stored minutes late; not at
// its end.
TEST_F(RowSenderTest, WhileTrainingRunsALateCommitIsWaitedForLonger) {
  append("late");
  db_->codes = {kDeadlineExceeded};
  db_->stored_after_gets = 20;
  run(*sender_, false);
  EXPECT_EQ(values(), (std::multiset<std::string>{"late"}));
  EXPECT_EQ(db_->reports, 1) << "it is not sent again";
  EXPECT_GT(took_ns_, 3 * kLongestSettleNs);
  append("never stored");
  db_->codes = {kDeadlineExceeded};
  run(*sender_);
  EXPECT_EQ(values(), (std::multiset<std::string>{"late", "never stored"}));
  EXPECT_LT(took_ns_, 2 * kLongestSettleNs);
}

TEST_F(RowSenderTest, TheSameRowsHaveTheSameId) {
  append("a");
  db_->codes = {14, 4, 13};
  run(*sender_);
  append("b");
  run(*sender_);
  ASSERT_EQ(db_->ids.size(), 5u);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(db_->ids[static_cast<size_t>(i)], db_->ids[0]);
  EXPECT_NE(db_->ids[4], db_->ids[0]);
}

// Three hours of a database that takes nothing: in words that are known, and in others.
TEST_F(RowSenderTest, ReadOnlyDatabaseLosesNothing) {
  for (const char* words : {"Error 1290 (HY000): The MySQL server is running with the --read-only option so it cannot "
                            "execute this statement",
                            "pq: cannot execute INSERT in a read-only transaction", "Error 9999: nobody knows"}) {
    db_->rows.clear();
    for (int i = 0; i < 50; ++i) append(std::to_string(i));
    db_->words = words;
    db_->codes.assign(500, kUnknown);
    run(*sender_);
    EXPECT_EQ(values().size(), 50u) << words;
    EXPECT_GT(took_ns_, 3600'000'000'000) << words;
    for (int i = 0; i < 50; ++i) EXPECT_EQ(values().count(std::to_string(i)), 1u) << words << i;
  }
}

// Of the last row nobody tells whether it is its fault: it is kept, also when rows before it were taken.
TEST_F(RowSenderTest, LastRowIsKeptUntilOthersTell) {
  for (int i = 0; i < 10; ++i) append(std::to_string(i));
  db_->poison = "9";
  sender_->flush(true);
  int64_t now_ns = 1;
  for (int i = 0; i < 2000 && now_ns < 3600'000'000'000; ++i) {
    sender_->step(now_ns);
    pollfd ready{sender_->fd(), POLLIN, 0};
    if (sender_->deadline_ns() == INT64_MAX) ::poll(&ready, 1, 10'000);
    else now_ns = std::max(now_ns, sender_->deadline_ns());
  }
  EXPECT_FALSE(sender_->resting());
  EXPECT_EQ(db_->rows.size(), 9u);
  db_->poison = "never";
  run(*sender_);
  EXPECT_EQ(db_->rows.size(), 10u);
}

// The database takes rows again just when the row behind the suspect is tried: the suspect gets a second look.
TEST_F(RowSenderTest, InnocentSuspectIsNotDropped) {
  for (int count = 1; count < 40; ++count) {
    db_->rows.clear();
    for (int i = 0; i < 4; ++i) append(std::to_string(i));
    db_->codes.assign(static_cast<size_t>(count), count % 2 == 0 || count > 9 ? kUnknown : kInvalidArgument);
    run(*sender_);
    ASSERT_EQ(values(), (std::multiset<std::string>{"0", "1", "2", "3"})) << count;
  }
}

// SIGTERM comes in the middle of a long pause: what is in doubt is looked for and sent at once, as long as there is a
// pod.
TEST_F(RowSenderTest, WhoeverIsInAHurryDoesNotWaitForTheEndOfAPause) {
  append("1");
  db_->codes = {kDeadlineExceeded};
  sender_->flush(false);
  int64_t now_ns = 1;
  for (int i = 0; i < 1000 && db_->gets < 12; ++i) {
    sender_->step(now_ns);
    pollfd ready{sender_->fd(), POLLIN, 0};
    if (sender_->deadline_ns() == INT64_MAX) ::poll(&ready, 1, 10'000);
    else now_ns = std::max(now_ns, sender_->deadline_ns());
  }
  sender_->step(now_ns);
  ASSERT_EQ(db_->reports, 1);
  ASSERT_GT(sender_->deadline_ns(), now_ns + 20'000'000'000) << "a pause, and a long one";
  sender_->hurry();
  for (int i = 0; i < 10 && !sender_->resting(); ++i) {
    sender_->step(now_ns);
    pollfd ready{sender_->fd(), POLLIN, 0};
    if (!sender_->resting()) ::poll(&ready, 1, 10'000);
  }
  EXPECT_EQ(values(), (std::multiset<std::string>{"1"}));
}

}  // namespace
}  // namespace tacho
