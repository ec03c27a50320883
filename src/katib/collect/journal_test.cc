// A disk that becomes full under the rows that wait: none is lost, none is there twice, and it is said once.
#include "katib/collect/journal.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>

#include "katib/collect/row_sender.h"
#include "support/small_disk.h"

namespace tacho {
namespace {

constexpr int kManyRows = 1000;  // several times the disk

std::vector<std::string> numbers(int from, int to) {
  std::vector<std::string> out;
  for (int i = from; i < to; ++i) out.push_back(std::to_string(i));
  return out;
}

void append_numbers(Journal& journal, int from, int to) {
  for (const std::string& number : numbers(from, to))
    journal.append({"2026-11-15T09:30:00.250000Z", "loss", number, {}, {}});
}

std::vector<std::string> read_values(Journal& journal, size_t limit = SIZE_MAX) {
  std::vector<std::string> out;
  EXPECT_TRUE(journal.read(true, limit, [&](MetricRow&& one) { out.push_back(one.value); }));
  return out;
}

TEST(FullDisk, RowsThatWaitAreKeptOnceAndItIsSaidOnce) {
  const SmallDisk disk("16k");
  if (!disk.is_mounted()) GTEST_SKIP() << "mounting needs root";
  const std::string path = disk.path() + "/rows";
  Journal journal(path, "t");
  ::testing::internal::CaptureStderr();
  append_numbers(journal, 0, 100);
  EXPECT_EQ(read_values(journal, 50), numbers(0, 50)) << "what was read before is not kept";
  append_numbers(journal, 100, kManyRows);
  EXPECT_EQ(read_values(journal), numbers(50, kManyRows));
  append_numbers(journal, kManyRows, kManyRows + 5);
  EXPECT_EQ(read_values(journal), numbers(kManyRows, kManyRows + 5));
  EXPECT_EQ(journal.lost(), 0u);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("kept in memory from now on"), std::string::npos) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;

  Journal again(path, "t");  // a restart: what is in the file is whole rows from the first on
  const auto left = read_values(again);
  EXPECT_GT(left.size(), 100u);
  EXPECT_EQ(left, numbers(0, static_cast<int>(left.size())));
}

class CountingDb final : public DbCalls {
 public:
  RpcStatus report(const std::string&, const RowPart& sent, const std::string&) override {
    for (const MetricRow& one : sent.copies()) values.push_back(one.value);
    return {};
  }
  RpcStatus get(const std::string&, const std::string&, const DbClient::Visit&) override { return {}; }
  RpcStatus remove(const std::string&) override { return {}; }
  RpcStatus healthy() override { return {}; }
  RpcStatus set_trial_status(const std::string&) override { return {}; }
  std::vector<std::string> values;
};

TEST(FullDisk, EveryRowIsReportedOnceThoughTheStateCannotBeKept) {
  const SmallDisk disk("16k");
  if (!disk.is_mounted()) GTEST_SKIP() << "mounting needs root";
  const auto db = std::make_shared<CountingDb>();
  Journal journal(disk.path() + "/state.rows", "t");
  StateFile file(disk.path() + "/state");
  CollectState state;
  RowSender sender("t", ShapeRules{}, db, state, file);
  sender.add_stream("own", journal, nullptr, true);
  ::testing::internal::CaptureStderr();
  for (int from = 0; from < kManyRows; from += 250) {
    append_numbers(journal, from, from + 250);
    sender.flush(false);
    int64_t now_ns = 1;
    for (int i = 0; i < 10'000 && !sender.resting(); ++i) {
      sender.step(now_ns);
      pollfd ready{sender.fd(), POLLIN, 0};
      if (sender.deadline_ns() == INT64_MAX) ::poll(&ready, 1, 10'000);
      else now_ns = std::max(now_ns, sender.deadline_ns());
    }
  }
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(db->values, numbers(0, kManyRows));
  EXPECT_EQ(journal.lost(), 0u);
  const size_t told = said.find("the state is not kept");
  EXPECT_NE(told, std::string::npos) << said;
  EXPECT_EQ(said.find("the state is not kept", told + 1), std::string::npos) << said;
}

}  // namespace
}  // namespace tacho
