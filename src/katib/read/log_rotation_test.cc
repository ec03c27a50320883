// A log that is truncated, replaced, rotated, copied or deleted while it is read: nothing is lost, nothing comes twice.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "katib/read/log_test_support.h"

namespace tacho {
namespace {

// A new attempt is what is under the name now; what an earlier one rotated away is not part of it.
TEST_F(LogTest, ANewAttemptIsTheFileOfTheName) {
  write(path_, "loss=1\n");
  const auto reader = open();
  EXPECT_EQ(rows(*reader), "loss=1");
  std::rename(path_.c_str(), (path_ + ".1").c_str());
  write(path_, "loss=2\nloss=3\n");
  EXPECT_EQ(rows(*reader), "loss=2 loss=3");
  ASSERT_TRUE(reader->begin_anew());
  EXPECT_EQ(rows(*reader), "loss=2 loss=3");
  ASSERT_TRUE(reader->seek(""));
  EXPECT_EQ(rows(*reader), "loss=2 loss=3");
  std::remove(path_.c_str());
  ASSERT_TRUE(reader->begin_anew());
  EXPECT_EQ(rows(*reader), "");
}

TEST_F(LogTest, ATruncatedFileBeginsAnew) {
  write(path_, "loss=1\nloss=2\n");
  const auto reader = open();
  EXPECT_EQ(rows(*reader), "loss=1 loss=2");
  EXPECT_FALSE(reader->restarted());
  ASSERT_EQ(::truncate(path_.c_str(), 0), 0);
  EXPECT_EQ(rows(*reader), "");
  EXPECT_TRUE(reader->restarted());
  EXPECT_FALSE(reader->restarted());
  append("loss=3\n");
  EXPECT_EQ(rows(*reader), "loss=3");
}

TEST_F(LogTest, TruncatedAndGrownBeyondThePlaceIsNoticedToo) {
  write(path_, "loss=1\nloss=2\n");
  const auto reader = open();
  EXPECT_EQ(rows(*reader), "loss=1 loss=2");
  const std::string position = reader->position();
  write(path_, "acc=7\nacc=8\nacc=9 and so on\n");
  EXPECT_EQ(rows(*reader), "acc=7 acc=8 acc=9");
  EXPECT_TRUE(reader->restarted());
  const auto later = open();
  ASSERT_TRUE(later->seek(position));
  EXPECT_EQ(rows(*later), "acc=7 acc=8 acc=9");
  EXPECT_TRUE(later->restarted());
}

TEST_F(LogTest, AReplacedFileIsFinishedFirst) {
  write(path_, "loss=1\n");
  const auto reader = open();
  EXPECT_EQ(rows(*reader), "loss=1");
  append("loss=2\nloss=3");
  ASSERT_EQ(::rename(path_.c_str(), (path_ + ".1").c_str()), 0);
  EXPECT_EQ(rows(*reader), "loss=2");
  write(path_, "");
  std::ofstream(path_ + ".1", std::ios::app) << "4\nloss=5";  // the writer has not opened the new one yet
  EXPECT_EQ(rows(*reader), "loss=34");
  append("acc=1\n");
  EXPECT_EQ(rows(*reader), "loss=5 acc=1");
  EXPECT_FALSE(reader->restarted());
  ASSERT_TRUE(reader->seek(""));
  EXPECT_EQ(rows(*reader), "loss=1 loss=2 loss=34 loss=5 acc=1");
}

// As logrotate does it: NAME.1 becomes NAME.2, NAME becomes NAME.1. The pause sets the files' birth times apart.
TEST_F(LogTest, SeveralRotationsBetweenTwoLooksLoseNothing) {
  write(path_ + ".1", "loss=0\n");  // of before
  ::usleep(20'000);
  write(path_, "loss=1\n");
  const auto reader = open();
  EXPECT_EQ(rows(*reader), "loss=1");
  append("loss=2\n");
  for (const char* text : {"loss=3\n", "loss=4\nacc=", "loss=5\n"}) {
    ::usleep(20'000);
    for (int i = 4; i > 0; --i)
      std::rename((path_ + "." + std::to_string(i)).c_str(), (path_ + "." + std::to_string(i + 1)).c_str());
    ASSERT_EQ(std::rename(path_.c_str(), (path_ + ".1").c_str()), 0);
    write(path_, text);
  }
  write(path_ + ".1.gz", "loss=99\n");
  EXPECT_EQ(rows(*reader), "loss=2 loss=3 loss=4 loss=5");
  append("acc=6\n");
  EXPECT_EQ(rows(*reader, true), "acc=6");
}

TEST_F(LogTest, AHeldFileIsReadFirstWhateverBecomesOfItsName) {
  const auto reader = open();
  reader->hold();  // nothing there yet
  write(path_, "loss=1\n");
  reader->hold();
  EXPECT_EQ(reader->restarted(), false);
  ::unlink(path_.c_str());
  write(path_, "loss=2\n");
  reader->hold();
  EXPECT_EQ(rows(*reader), "loss=1 loss=2");
}

TEST_F(LogTest, ACopyOfALogIsNotReadAgain) {
  write(path_, "loss=1\n");
  const auto reader = open();
  EXPECT_EQ(rows(*reader), "loss=1");
  ::usleep(20'000);
  write(path_ + ".1", "loss=1\n");
  ::unlink(path_.c_str());
  ::usleep(20'000);
  write(path_, "loss=2\n");
  EXPECT_EQ(rows(*reader, true), "loss=2");
}

TEST_F(LogTest, ARestartedReaderFindsTheRotatedFile) {
  write(path_, "loss=1\nloss=2\n");
  std::string position;
  {
    const auto reader = open();
    ASSERT_TRUE(*reader->read(false, 1, [](MetricRow&&) {}));
    position = reader->position();
  }
  ASSERT_EQ(::rename(path_.c_str(), (path_ + ".1").c_str()), 0);
  write(path_, "acc=1\n");
  const auto reader = open();
  ASSERT_TRUE(reader->seek(position));
  EXPECT_EQ(rows(*reader), "loss=2 acc=1");
  ASSERT_EQ(::unlink((path_ + ".1").c_str()), 0);
  const auto later = open();
  ASSERT_TRUE(later->seek(position));
  EXPECT_EQ(rows(*later), "acc=1");
}

TEST_F(LogTest, ADeletedFileIsReadToItsEnd) {
  write(path_, "loss=1\nloss=2\nlos");
  const auto reader = open();
  ASSERT_TRUE(*reader->read(false, 1, [](MetricRow&&) {}));
  ASSERT_EQ(::unlink(path_.c_str()), 0);
  EXPECT_EQ(rows(*reader), "loss=2");
  EXPECT_EQ(rows(*reader, true), "");
  write(path_, "acc=1\n");
  EXPECT_EQ(rows(*reader), "acc=1");
}

}  // namespace
}  // namespace tacho
