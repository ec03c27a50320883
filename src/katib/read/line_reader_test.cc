// The growing file under the readers of logs: what is read when, and where one is afterwards.
#include "katib/read/line_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "katib/read/log_test_support.h"

namespace tacho {
namespace {

TEST_F(LogTest, AFileThatIsNotThereYetHasNoRows) {
  const auto reader = open();
  EXPECT_EQ(rows(*reader), "");
  EXPECT_EQ(reader->position(), "");
  EXPECT_EQ(rows(*reader, true), "");
  write(path_, "loss=1\n");
  EXPECT_EQ(rows(*reader), "loss=1");
  EXPECT_EQ(reader->folders(), std::vector<std::string>{folder_});
}

TEST_F(LogTest, ALineCountsWhenItIsComplete) {
  write(path_, "loss=1\nlos");
  const auto reader = open();
  EXPECT_EQ(rows(*reader), "loss=1");
  append("s=2");
  EXPECT_EQ(rows(*reader), "");
  append("5\r\nacc=3");
  EXPECT_EQ(rows(*reader), "loss=25");
  EXPECT_EQ(rows(*reader, true), "acc=3");
  EXPECT_EQ(rows(*reader, true), "");
}

TEST_F(LogTest, APlaceIsExactAfterAnyLimit) {
  std::string text, all;
  for (int i = 0; i < 500; ++i) {
    text += std::string(static_cast<size_t>(i % 7) * 300, 'x') + "\nstep loss=" + std::to_string(i) +
            " acc=" + std::to_string(i) + "\n";
    all += " loss=" + std::to_string(i) + " acc=" + std::to_string(i);
  }
  write(path_, text);
  for (const size_t limit : {1, 2, 3, 7, 400}) {
    std::string seen, position;
    for (bool more = true; more;) {
      const auto reader = open();  // a new process each time
      ASSERT_TRUE(reader->seek(position));
      more = *reader->read(true, limit, [&](MetricRow&& row) { seen += " " + row.name + "=" + row.value; });
      position = reader->position();
      EXPECT_FALSE(reader->restarted());
    }
    EXPECT_EQ(seen, all) << limit;
  }
}

// Not more rows at once than were asked for, also when they are in one line, ended or not.
TEST_F(LogTest, ALineOfManyRowsIsPassedOnInParts) {
  std::string line, all;
  for (int i = 0; i < 5'000; ++i) {
    line += "loss=" + std::to_string(i) + " acc=nan x=1 ";
    all += " loss=" + std::to_string(i);
  }
  for (const bool ended : {true, false}) {
    write(path_, "acc=1\n" + line + (ended ? "\nacc=2\n" : ""));
    for (const bool restarts : {true, false}) {
      auto reader = open();
      std::string seen, position;
      size_t echoed = 0;
      options_.echo = [&](std::string_view lines) { echoed += lines.size(); };
      for (bool more = true; more;) {
        if (restarts) {
          reader = open();
          ASSERT_TRUE(reader->seek(position));
        }
        size_t rows = 0;
        more = *reader->read(true, 300, [&](MetricRow&& row) {
          seen += " " + row.name + "=" + row.value;
          ++rows;
        });
        EXPECT_LE(rows, 300u);
        position = reader->position();
        if (!restarts) { EXPECT_LE(reader->counts().non_finite, 5'000u); }
      }
      EXPECT_EQ(seen, " acc=1" + all + (ended ? " acc=2" : ""));
      EXPECT_FALSE(reader->restarted());
      options_.echo = nullptr;
    }
  }
}

TEST_F(LogTest, SeekGoesBackInTheSameFile) {
  write(path_, "loss=1\nloss=2\nloss=3\n");
  const auto reader = open();
  ASSERT_TRUE(*reader->read(false, 1, [](MetricRow&&) {}));
  const std::string after_one = reader->position();
  EXPECT_EQ(rows(*reader), "loss=2 loss=3");
  ASSERT_TRUE(reader->seek(after_one));
  EXPECT_EQ(reader->position(), after_one);
  EXPECT_EQ(rows(*reader), "loss=2 loss=3");
  ASSERT_TRUE(reader->seek(""));
  EXPECT_EQ(rows(*reader), "loss=1 loss=2 loss=3");
  EXPECT_FALSE(reader->restarted());
}

TEST_F(LogTest, BadPlacesAreRefused) {
  const auto reader = open();
  EXPECT_FALSE(reader->seek("{"));
  EXPECT_FALSE(reader->seek("{\"device\":1}"));
  EXPECT_FALSE(reader->seek("{\"device\":1,\"inode\":\"x\",\"offset\":1,\"before\":[0,0]}"));
}

TEST_F(LogTest, LinesOverOneMibAreSkippedAndCounted) {
  const std::string longest(LineReader::kLongestLine - 7, 'x');
  write(path_, "loss=1\n" + longest + " loss=2\n" + longest + "x loss=3\n" + longest + longest + longest +
                   " loss=4\nloss=5\n");
  const auto reader = open();
  EXPECT_EQ(rows(*reader), "loss=1 loss=2 loss=5");
  EXPECT_EQ(reader->counts().long_lines, 2u);
  append(longest + longest + " loss=6");
  EXPECT_EQ(rows(*reader), "");
  const auto next = open();
  ASSERT_TRUE(next->seek(reader->position()));  // inside of the long line
  append(" loss=7\nloss=8\n" + longest + longest);
  EXPECT_EQ(rows(*next), "loss=8");
  EXPECT_EQ(rows(*reader, true), "loss=8");
  EXPECT_EQ(reader->counts().long_lines, 4u);
}

TEST_F(LogTest, EveryByteIsEchoedOnce) {
  std::string echo;
  options_.echo = [&](std::string_view bytes) { echo += bytes; };
  const std::string first = "plain\nloss=1\nloss=2\nhalf";
  write(path_, first);
  const auto reader = open();
  ASSERT_TRUE(*reader->read(false, 1, [](MetricRow&&) {}));
  EXPECT_EQ(echo, "plain\nloss=1\n");
  EXPECT_EQ(rows(*reader), "loss=2");
  EXPECT_EQ(echo, "plain\nloss=1\nloss=2\n");
  ASSERT_TRUE(reader->seek(""));
  EXPECT_EQ(rows(*reader), "loss=1 loss=2");
  append(" a line\n");
  rows(*reader);
  EXPECT_EQ(echo, first + " a line\n");
  write(path_, "again\n");
  rows(*reader);
  append(std::string(3 << 20, 'y') + "\nend");
  rows(*reader, true);
  EXPECT_EQ(echo, first + " a line\nagain\n" + std::string(3 << 20, 'y') + "\nend");
}

TEST_F(LogTest, WithoutMetricsThereIsOnlyTheEcho) {
  size_t bytes = 0;
  options_.metrics.clear();
  options_.echo = [&](std::string_view part) { bytes += part.size(); };
  write(path_, "loss=1\n\nloss=2\n");
  EXPECT_EQ(rows(*open()), "");
  EXPECT_EQ(bytes, 15u);
}

TEST_F(LogTest, AFolderInItsPlaceIsAnError) {
  path_ = folder_;
  const auto reader = open();
  EXPECT_FALSE(reader->read(false, 1, [](MetricRow&&) {}));
}

// The next calls fail so; then all is well again.
struct Failures {
  static inline int opens = 0, preads = 0, why = EIO;
  Failures() : before(GrowingFile::calls) {
    GrowingFile::calls = {
        [](const char* path, int flags) { return opens > 0 && opens-- > 0 ? (errno = why, -1) : ::open(path, flags); },
        [](int fd, void* to, size_t size, off_t offset) {
          return preads > 0 && preads-- > 0 ? (errno = why, ssize_t{-1}) : ::pread(fd, to, size, offset);
        }};
  }
  ~Failures() {
    GrowingFile::calls = before;
    opens = preads = 0;
  }
  GrowingFile::Calls before;
};

// Whatever fails and whenever: every row comes once.
TEST_F(LogTest, PassingErrorsLoseAndDoubleNothing) {
  const Failures failures;
  for (const int why : {EIO, ESTALE, EACCES, EINTR, ENFILE}) {
    for (int first = 0; first < 24; ++first) {
      Failures::why = why;
      ::unlink(path_.c_str());
      write(path_, "loss=1\nloss=2\nlo");
      std::string got;
      const auto take = [&](Reader& reader, bool at_end) {
        for (int tries = 0; tries < 40; ++tries) {
          const auto more = reader.read(at_end, 1, [&](MetricRow&& row) { got += row.value; });
          if (more && !*more) return;
        }
        got += " never read";
      };
      auto reader = open();
      Failures::opens = first % 3;
      Failures::preads = first / 6;
      take(*reader, false);
      EXPECT_EQ(got, "12") << why << " " << first;
      const std::string position = reader->position();
      append("ss=3\n");
      Failures::opens = first % 2;
      Failures::preads = first / 3;
      take(*reader, true);
      EXPECT_EQ(got, "123") << why << " " << first;
      // One that is started again there.
      auto second = open();
      ASSERT_TRUE(second->seek(position));
      Failures::opens = first % 3;
      Failures::preads = first / 3;
      take(*second, true);
      EXPECT_EQ(got, "1233") << why << " " << first;
      EXPECT_FALSE(second->restarted());
      Failures::opens = Failures::preads = 0;
    }
  }
}

// A trainer that makes its log a link to a file of the collector's would have it shown.
TEST_F(LogTest, ALinkOutOfTheFolderIsNotRead) {
  char secret[] = "/tmp/tacho-secret-XXXXXX";
  ::close(::mkstemp(secret));
  write(secret, "loss=1\n");
  ASSERT_EQ(::symlink(secret, path_.c_str()), 0);
  std::string echoed;
  options_.echo = [&](std::string_view lines) { echoed += lines; };
  const auto reader = open();
  EXPECT_NE(rows(*reader).find("leads out of its folder"), std::string::npos);
  EXPECT_EQ(echoed, "");
  // Within the folder it is one's own business.
  ::unlink(path_.c_str());
  write(folder_ + "/run1.log", "loss=2\n");
  ASSERT_EQ(::symlink("run1.log", path_.c_str()), 0);
  EXPECT_EQ(rows(*reader), "loss=2");
  ::unlink(secret);
}

TEST_F(LogTest, NothingButAPlainFileIsRead) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0666), 0);
  EXPECT_NE(rows(*open()).find("error"), std::string::npos);
  ::unlink(path_.c_str());
  ASSERT_EQ(::symlink("/dev/zero", path_.c_str()), 0);
  EXPECT_NE(rows(*open()).find("error"), std::string::npos);
  ::unlink(path_.c_str());
  ASSERT_EQ(::symlink(path_.c_str(), path_.c_str()), 0);
  EXPECT_NE(rows(*open()).find("error"), std::string::npos);
}

TEST_F(LogTest, WhereNobodyLooksAtRowsTheLogIsOnlyFollowed) {
  write(path_, "loss=1\nloss=2\n");
  std::string echoed;
  options_.echo = [&](std::string_view lines) { echoed += lines; };
  const auto reader = open();
  reader->want_rows(false);
  EXPECT_EQ(rows(*reader), "");
  EXPECT_EQ(echoed, "loss=1\nloss=2\n");
  reader->want_rows(true);
  append("loss=3\n");
  EXPECT_EQ(rows(*reader), "loss=3");
}

}  // namespace
}  // namespace tacho
