// A log whose rows nobody wants is passed over: one is then where reading all of it would have led.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <random>

#include "katib/read/growing_file.h"
#include "katib/read/log_test_support.h"

namespace tacho {
namespace {

std::atomic<size_t> bytes_read = 0;

class SkipTest : public LogTest {
 protected:
  SkipTest() {
    GrowingFile::calls.pread = [](int fd, void* to, size_t size, off_t offset) {
      const ssize_t got = ::pread(fd, to, size, offset);
      if (got > 0) bytes_read += static_cast<size_t>(got);
      return got;
    };
  }
  ~SkipTest() override { GrowingFile::calls = before_; }

  std::string lines(std::mt19937& random) {
    std::string text;
    const size_t wanted = random() % 3 == 0 ? random() % 400'000 : random() % 2'000;
    while (text.size() < wanted) {
      if (random() % 3 == 0) text += "loss=" + std::to_string(random() % 100);
      text += std::string(random() % (random() % 50 == 0 ? 20'000 : 200), 'x') + "\n";
    }
    if (random() % 40 == 0) text += std::string(1'200'000, 'y') + (random() % 2 == 0 ? "\n" : "");
    if (random() % 2 == 0) text += "loss=" + std::to_string(random() % 100);  // not ended yet
    return text;
  }

  // One that reads all since it is echoed, and one that need not.
  std::unique_ptr<Reader> follower(bool reads_all) {
    if (reads_all) options_.echo = [](std::string_view) {};
    auto reader = open();
    options_.echo = nullptr;
    reader->want_rows(false);
    return reader;
  }

  GrowingFile::Calls before_ = GrowingFile::calls;
};

TEST_F(SkipTest, OneIsWhereReadingWouldHaveLedAtRandom) {
  int began_anew = 0;
  std::error_code absent;
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    ::unlink(path_.c_str());
    ::unlink((path_ + ".1").c_str());
    auto reads = follower(true), skips = follower(false);
    for (int turn = 0; turn < 25; ++turn) {
      switch (random() % 12) {
        default: append(lines(random)); break;
        case 9: write(path_, lines(random)); break;  // truncated, and shorter or longer than before
        case 10: std::filesystem::resize_file(path_, 100, absent); break;
        case 11:
          ::rename(path_.c_str(), (path_ + ".1").c_str());
          append(lines(random));
          break;
      }
      ASSERT_EQ(rows(*reads), "");
      ASSERT_EQ(rows(*skips), "");
      ASSERT_EQ(skips->position(), reads->position()) << seed << ": " << turn;
      ASSERT_EQ(skips->passed(), reads->passed()) << seed << ": " << turn;
      const bool anew = reads->restarted();
      ASSERT_EQ(skips->restarted(), anew);
      began_anew += anew;
      if (random() % 10 != 0) continue;
      const std::string position = reads->position();  // others go on there
      reads = follower(true), skips = follower(false);
      ASSERT_TRUE(reads->seek(position) && skips->seek(position));
    }
    reads->want_rows(true);
    skips->want_rows(true);
    append("\nloss=7\nacc=8\nacc=9");
    const std::string rest = rows(*reads, true);
    ASSERT_NE(rest.find("loss=7 acc=8 acc=9"), rest.npos);
    ASSERT_EQ(rows(*skips, true), rest) << seed;
  }
  EXPECT_GT(began_anew, 20);
}

TEST_F(SkipTest, LittleIsReadOfALongLog) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "step " + std::to_string(i) + " loss=0.5\n";
  write(path_, text);
  const auto skips = follower(false), reads = follower(true);
  bytes_read = 0;
  EXPECT_EQ(rows(*skips), "");
  EXPECT_LT(bytes_read, 100'000u);
  EXPECT_EQ(rows(*reads), "");
  EXPECT_GT(bytes_read, text.size());
  EXPECT_EQ(skips->position(), reads->position());
}

}  // namespace
}  // namespace tacho
