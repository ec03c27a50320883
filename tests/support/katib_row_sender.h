// What the tests of the sender share: a database that fails as it is told, and a sender over a journal in memory
// with it.
#pragma once
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "katib/collect/journal.h"
#include "katib/collect/refusal.h"
#include "katib/collect/row_sender.h"

namespace tacho {

// A database that does what the test says.
class FakeDb final : public DbCalls {
 public:
  RpcStatus report(const std::string&, const RowPart& part, const std::string& id) override {
    const std::vector<MetricRow> sent = part.copies();
    const std::lock_guard lock(mutex);
    ++reports;
    const bool known = std::find(ids.begin(), ids.end(), id) != ids.end();
    ids.push_back(id);
    if (stores_once && known && codes.empty()) return {};
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
  bool knows_ids() const override { return stores_once; }
  RpcStatus set_trial_status(const std::string&) override { return {}; }

  std::mutex mutex;
  std::vector<MetricRow> rows;
  std::vector<int> codes;  // of the next calls
  std::string words = "as the test says";
  bool store_although_failed = false;
  bool stores_once = false;   // knows the ids of reports
  int stored_after_gets = 0;  // what failed is stored after all, when so many have looked
  std::vector<MetricRow> late;
  std::vector<std::string> ids;
  std::string poison = "never";
  int poison_code = kUnknown;
  std::string poison_words = "Error: bad row";
  int reports = 0, gets = 0;
  size_t largest_call = 0, largest_bytes = 0;
};

// A step, and its answer is there to be taken by the next one.
inline void step_until_answered(RowSender& sender, int turn) {
  sender.step(turn);
  pollfd ready{sender.fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&ready, 1, 10'000), 1);
}

// What was there before, then a report is answered, but nobody takes the answer.
inline void stop_before_the_answer(RowSender& sender) {
  sender.flush(false);
  for (int calls = 0; calls < 2; ++calls) step_until_answered(sender, 1);
}

class RowSenderTest : public ::testing::Test {
 protected:
  RowSenderTest() : db_(std::make_shared<FakeDb>()), file_("") { sender_ = make(); }
  std::unique_ptr<RowSender> make() {
    auto out = std::make_unique<RowSender>("t", ShapeRules{}, db_, state_, file_);
    out->add_stream("own", journal_, nullptr, true);
    out->resume();
    return out;
  }
  void append(const std::string& value, const std::string& name = "m") {
    journal_.append({std::string(kZeroTime), name, value, {}, {}});
  }
  // Until it rests; pauses are skipped, not waited for.
  void run(RowSender& sender, bool at_end = true) {
    sender.flush(at_end);
    int64_t now_ns = 1;
    for (int i = 0; i < 100'000 && !sender.resting(); ++i) {
      sender.step(now_ns);
      if (sender.resting()) break;
      pollfd ready{sender.fd(), POLLIN, 0};
      if (sender.deadline_ns() == INT64_MAX) ::poll(&ready, 1, 10'000);
      else now_ns = std::max(now_ns, sender.deadline_ns());
    }
    EXPECT_TRUE(sender.resting());
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
  std::unique_ptr<RowSender> sender_;
};

}  // namespace tacho
