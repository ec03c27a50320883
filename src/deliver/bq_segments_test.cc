#include "deliver/bq_segments.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/writer.h"
#include "spool/writer.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

// Three segments of two rows of metrics each, times 0 to 5.
class Segments : public testing::Test {
 protected:
  Segments() {
    auto made = SpoolWriter::create({dir_.path() + "/spool"}, "20261115T140000Z");
    writer_.emplace(std::move(*made));
    writer_->set_ending(kRecordsEnding);
    for (int i = 0; i < 6; ++i) {
      Writer line;
      write_bq_record(line, 'M', i, "{\"seq\":1}");
      EXPECT_TRUE(writer_->append(line.view()));
      if (i % 2 == 1) { EXPECT_TRUE(writer_->seal(false)); }
    }
    run_.emplace(writer_->folder());
    segments_.emplace(*run_, state_, notices_, "M");
  }
  std::string path(int number) const {
    return writer_->folder() + "/" + segment_name(static_cast<uint32_t>(number), kRecordsEnding);
  }
  void damage(int number) {
    std::fstream file(path(number), std::ios::in | std::ios::out);
    file.seekp(-4, std::ios::end);  // in its second record
    file.put('x');
  }
  std::vector<int64_t> feed(size_t most = 100) {
    std::vector<int64_t> times;
    segments_->feed('M', [&](uint64_t tag, const BqRecord& record) {
      tags_.push_back(tag);
      times.push_back(record.time_us);
      return times.size() < most;
    });
    return times;
  }
  void settle() {
    for (const uint64_t tag : tags_) segments_->settle(tag);
    tags_.clear();
  }

  TempDir dir_;
  std::optional<SpoolWriter> writer_;
  std::optional<SpoolRun> run_;
  BqState state_;
  Notices notices_{false};
  std::optional<BqSegments> segments_;
  std::vector<uint64_t> tags_;
};

TEST_F(Segments, WhatIsUnderWay) {
  EXPECT_FALSE(segments_->is_under_way(0));
  feed(1);
  EXPECT_TRUE(segments_->is_under_way(0));
  EXPECT_FALSE(segments_->is_under_way(1));
  settle();
  EXPECT_TRUE(segments_->save());
  BqSegments after_a_restart(*run_, state_, notices_, "M");
  EXPECT_TRUE(after_a_restart.is_under_way(0));
  EXPECT_FALSE(after_a_restart.is_under_way(1));
}

TEST_F(Segments, OneThatBreaksAfterItWasReadHoldsUpNoOther) {
  EXPECT_EQ(feed(1), (std::vector<int64_t>{0}));
  settle();
  damage(0);
  EXPECT_EQ(feed(), (std::vector<int64_t>{2, 3, 4, 5}));
  settle();
  EXPECT_TRUE(segments_->save());
  EXPECT_FALSE(segments_->is_empty());
  segments_->owner_ended();
  EXPECT_TRUE(feed().empty());                   // repaired at this look
  EXPECT_EQ(feed(), (std::vector<int64_t>{0}));  // what is whole of it, again under the same id
  settle();
  EXPECT_TRUE(segments_->save());
  EXPECT_TRUE(segments_->is_empty());
}

TEST_F(Segments, OneThatWasBrokenBeforeHoldsUpNoOtherAndIsNotTakenForEmpty) {
  damage(1);
  EXPECT_EQ(feed(), (std::vector<int64_t>{0, 1, 4, 5}));
  settle();
  EXPECT_TRUE(segments_->save());
  EXPECT_FALSE(segments_->is_empty());
  EXPECT_FALSE(segments_->stuck().empty());
}

TEST_F(Segments, OneThatCannotBeReadIsNotTakenForEmpty) {
  std::filesystem::remove(path(1));
  std::filesystem::create_directory(path(1));
  segments_->owner_ended();
  EXPECT_EQ(feed(), (std::vector<int64_t>{0, 1, 4, 5}));
  settle();
  EXPECT_TRUE(segments_->save());
  EXPECT_FALSE(segments_->is_empty());
  EXPECT_NE(segments_->stuck().find("000001"), std::string::npos);
}

}  // namespace
}  // namespace tacho
