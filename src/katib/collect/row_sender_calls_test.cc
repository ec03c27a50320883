// Several calls for one note in the state, where the service stores each report once.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "support/katib_row_sender.h"

namespace tacho {
namespace {

constexpr int kRows = 12'000;  // three calls

class RowSenderCalls : public RowSenderTest {
 protected:
  RowSenderCalls() : path_(::testing::TempDir() + "sender-calls-state") {
    std::filesystem::remove(path_);
    db_->stores_once = true;
    for (int i = 0; i < kRows; ++i) journal_.append({TimeStamp::at(int64_t{1} + i), "m", std::to_string(i), {}, {}});
  }
  ~RowSenderCalls() override { std::filesystem::remove(path_); }

  // A collector that is killed when so many reports are stored, before it takes the last answer.
  void send_and_die(int reports) {
    CollectState state{"t", "k", "", "", "", false, false, {}, {}, {}, {}, {}};
    StateFile file(path_);
    RowSender first("t", {}, db_, state, file);
    first.add_stream("own", journal_, nullptr, true);
    first.resume();
    first.flush(false);
    while (db_->reports < reports) step_until_answered(first, 1);
  }
  std::optional<CollectState> left() { return StateFile(path_).load("t", "k"); }
  void go_on(const std::function<void(RowSender&)>& with) {
    auto state = left();
    ASSERT_TRUE(state);
    StateFile file(path_);
    RowSender second("t", {}, db_, *state, file);
    second.add_stream("own", journal_, nullptr, true);
    second.resume();
    with(second);
  }
  void go_on() {
    go_on([this](RowSender& second) { run(second); });
  }
  void expect_each_once(const char* what) {
    EXPECT_EQ(db_->rows.size(), static_cast<size_t>(kRows)) << what;
    const auto all = values();
    EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), static_cast<size_t>(kRows)) << what;
  }

  std::string path_;
};

TEST_F(RowSenderCalls, AllAreInOneNote) {
  send_and_die(2);
  const auto state = left();
  ASSERT_TRUE(state && state->pending);
  EXPECT_EQ(state->pending->done, 0);
  EXPECT_EQ(state->pending->sending, kRows) << "any of them may be stored";
  EXPECT_LE(db_->largest_call, RowSender::kMostRows);
}

TEST_F(RowSenderCalls, ARestartAfterAnyOfThemDoublesNothing) {
  for (int reports = 1; reports <= 3; ++reports) {
    std::filesystem::remove(path_);
    db_->rows.clear();
    db_->ids.clear();
    db_->reports = 0;
    send_and_die(reports);
    go_on();
    expect_each_once(std::to_string(reports).c_str());
  }
}

// Another manager has taken the place of the one that knew ids: what is there is compared, part by part.
TEST_F(RowSenderCalls, AlsoWhereIdsAreNotKnownAnyMore) {
  for (int reports = 1; reports <= 3; ++reports) {
    std::filesystem::remove(path_);
    db_->rows.clear();
    db_->ids.clear();
    db_->reports = 0;
    db_->stores_once = true;
    send_and_die(reports);
    db_->stores_once = false;
    db_->ids.clear();
    go_on();
    expect_each_once(std::to_string(reports).c_str());
    EXPECT_EQ(db_->reports, 3) << "each is sent once";
  }
}

// And a restart in the middle of that.
TEST_F(RowSenderCalls, ASecondRestart) {
  send_and_die(3);
  db_->stores_once = false;
  go_on([](RowSender& second) {
    second.flush(true);
    step_until_answered(second, 1);  // looks for the first part
    step_until_answered(second, 2);  // and for the second
  });
  go_on();
  expect_each_once("");
  EXPECT_EQ(db_->reports, 3);
}

// Elsewhere each call is written down before it is made.
TEST_F(RowSenderCalls, OneByOneWhereIdsAreNotKnown) {
  db_->stores_once = false;
  send_and_die(2);
  const auto state = left();
  ASSERT_TRUE(state && state->pending);
  EXPECT_LE(state->pending->sending, static_cast<int64_t>(RowSender::kMostRows));
  go_on();
  expect_each_once("");
}

}  // namespace
}  // namespace tacho
