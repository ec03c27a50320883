// Records with images, graphs or very many values: read piece by piece, in little memory.
#include <gtest/gtest.h>

#include "katib/read/tfevent_test_support.h"

namespace tacho {
namespace {

// Summaries that were merged are one record: what is large in it does not hide what is small.
TEST_F(TfeventTest, ScalarsBesideAnImage) {
  options_.metrics = {"loss", "acc"};
  const std::string image = field(1, field(1, "img") + field(4, field(4, std::string(5 << 20, 'i'))));
  const std::string time("\x09\0\0\0\0\0\0\xf0\x3f", 9), step("\x10\x07");
  const std::string event =
      time + field(5, scalar("loss", 1) + image + scalar("loss", 2) + scalar("acc", 3) + image) + step;
  std::string wrong = record_of(event);
  wrong[wrong.size() / 2] ^= 1;
  put("x.tfevents", record_of(event) + wrong + record_of(time + field(5, scalar("loss", 4))));
  const auto reader = make_tfevent_reader(folder_, options_);
  std::vector<MetricRow> all;
  ASSERT_TRUE(reader->read(true, 100, [&](MetricRow&& row) { all.push_back(std::move(row)); }));
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].value + all[1].value + all[2].value + all[3].value, "1.02.03.04.0");
  EXPECT_EQ(all[2].name, "acc");
  EXPECT_EQ(all[2].step, 7);
  EXPECT_EQ(all[2].time_stamp, "1970-01-01T00:00:01.000000Z");
  EXPECT_EQ(reader->counts().bad_records, 1u);
}

// What one record holds does not fit into a chunk: it is passed on in parts, and a restart goes on in the middle of it.
TEST_F(TfeventTest, VeryManyValuesInOneRecord) {
  const std::string time("\x09\0\0\0\0\0\0\xf0\x3f", 9);
  const std::string image = field(1, field(1, "img") + field(4, field(4, std::string(2 << 20, 'i'))));
  std::string scalars;
  for (int i = 0; i < 100; ++i) scalars += scalar(i % 3 == 0 ? "other" : "loss", static_cast<float>(i));
  for (const bool large : {false, true}) {
    const std::string event = record_of(time + field(5, scalars + (large ? image : "")));
    put("x.tfevents", event + event);
    for (const bool at_end : {false, true}) {
      options_.report_at_end = at_end;
      const Rows all = rows(*make_tfevent_reader(folder_, options_));
      ASSERT_EQ(all.size(), 132u);
      Rows seen;
      std::string position, first_end;
      for (bool more = true; more;) {
        const auto reader = make_tfevent_reader(folder_, options_);
        ASSERT_TRUE(reader->seek(position));
        const size_t before = seen.size();
        more = *reader->read(true, 7, [&](MetricRow&& row) { seen.push_back(row.name + "=" + row.value); });
        EXPECT_LE(seen.size(), before + 7);
        position = reader->position();
        if (first_end.empty()) first_end = position;
      }
      EXPECT_EQ(seen, all);
      if (at_end) continue;
      const auto reader = make_tfevent_reader(folder_, options_);
      ASSERT_TRUE(reader->stop_at(first_end));
      EXPECT_EQ(rows(*reader, true), Rows(all.begin(), all.begin() + 7));
      ASSERT_TRUE(reader->stop_at(""));
      EXPECT_EQ(rows(*reader, true), Rows(all.begin() + 7, all.end()));
    }
  }
}

// More small values than are kept of a large record at a time: it is read several times, and none is missing.
TEST_F(TfeventTest, MoreValuesThanAreKeptOfALargeRecord) {
  const std::string time("\x09\0\0\0\0\0\0\xf0\x3f", 9);
  std::string scalars;
  for (int i = 0; i < 130'000; ++i) scalars += scalar(i % 100 == 0 ? "loss" : "o", static_cast<float>(i));
  const std::string event = record_of(time + field(5, scalars));
  ASSERT_GT(event.size(), size_t{1} << 20);
  put("x.tfevents", event + record_of(time + field(5, scalar("loss", -1))));
  for (const bool at_end : {false, true}) {
    options_.report_at_end = at_end;
    const Rows all = rows(*make_tfevent_reader(folder_, options_));
    ASSERT_EQ(all.size(), 1301u);
    EXPECT_EQ(all[1299], "loss=129900.0");
    EXPECT_EQ(all[1300], "loss=-1.0");
    for (const size_t limit : {333, 1000, 1300}) {
      Rows seen;
      std::string position, middle;
      for (bool more = true; more;) {
        const auto reader = make_tfevent_reader(folder_, options_);
        ASSERT_TRUE(reader->seek(position));
        more = *reader->read(true, limit, [&](MetricRow&& row) { seen.push_back(row.name + "=" + row.value); });
        position = reader->position();
        if (seen.size() == 2 * limit || (limit == 1000 && middle.empty())) middle = position;
      }
      EXPECT_EQ(seen, all) << limit;
      if (at_end || middle.empty()) continue;
      const auto reader = make_tfevent_reader(folder_, options_);
      ASSERT_TRUE(reader->stop_at(middle));
      EXPECT_EQ(rows(*reader, true).size(), limit == 1000 ? 1000 : 2 * limit);
      ASSERT_TRUE(reader->stop_at(""));
      EXPECT_EQ(rows(*reader, true).size(), all.size() - (limit == 1000 ? 1000 : 2 * limit));
    }
  }
}

TEST_F(TfeventTest, LargeRecordsArePassedOver) {
  const std::string bytes = one_file("plain");
  const TfRecord first = first_record(bytes);
  const std::string record = record_of(field(4, std::string(3 << 20, 'g')));  // a graph
  put("x.tfevents", bytes.substr(0, first.size) + record.substr(0, 2 << 20));
  const auto reader = make_tfevent_reader(folder_, options_);
  EXPECT_EQ(rows(*reader, false).size(), 0u);
  put("x.tfevents", record.substr(2 << 20) + bytes.substr(first.size), true);
  EXPECT_EQ(rows(*reader, false).size(), 3u);
  EXPECT_EQ(reader->counts().bad_records, 0u);
}

}  // namespace
}  // namespace tacho
