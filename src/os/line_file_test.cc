#include "os/line_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <thread>

#include "os/fd.h"
#include "support/small_disk.h"
#include "support/temp_dir.h"

namespace tacho {
namespace {

class LineFileTest : public testing::Test {
 protected:
  LineFileTest() { std::signal(SIGPIPE, SIG_IGN); }

  std::string read_available(int fd) {
    std::string text(1 << 20, '\0');
    ::fcntl(fd, F_SETFL, O_NONBLOCK);
    const ssize_t got = ::read(fd, text.data(), text.size());
    text.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return text;
  }

  TempDir dir_;
};

// stdout replaced by `fd` while it lives.
class Stdout {
 public:
  explicit Stdout(int fd) : saved_(::dup(1)) { ::dup2(fd, 1); }
  ~Stdout() { ::dup2(saved_.get(), 1); }

 private:
  Fd saved_;
};

TEST_F(LineFileTest, TruncatesThenAppendsWholeLines) {
  spill(dir_ / "out", "old text that is longer\n");
  auto file = LineFile::open(dir_ / "out");
  ASSERT_TRUE(file);
  EXPECT_EQ(slurp(dir_ / "out"), "old text that is longer\n") << "the start may still be refused";
  ASSERT_TRUE(file->write("a,b\n"));
  EXPECT_EQ(slurp(dir_ / "out"), "a,b\n");  // visible at once
  ASSERT_TRUE(file->write("1,2\n"));
  EXPECT_EQ(slurp(dir_ / "out"), "a,b\n1,2\n");
}

TEST_F(LineFileTest, StdoutThatTakesNothingIsRefusedAtOnce) {
  for (const int flags : {O_RDONLY, O_PATH}) {
    const Fd shut(::open("/dev/null", flags | O_CLOEXEC));
    const Stdout replaced(shut.get());
    const auto file = LineFile::open("-");
    ASSERT_FALSE(file) << flags;
    EXPECT_EQ(file.error().code, Code::invalid);
    EXPECT_NE(file.error().message().find("-o metrics.csv"), std::string::npos);
  }
}

TEST_F(LineFileTest, BadPathsSayWhatToDo) {
  const auto no_folder = LineFile::open(dir_ / "no/such/out.csv");
  ASSERT_FALSE(no_folder);
  EXPECT_NE(no_folder.error().message().find("mkdir -p " + dir_.path() + "/no/such"), std::string::npos);
  const auto folder = LineFile::open(dir_.path());
  ASSERT_FALSE(folder);
  EXPECT_NE(folder.error().hint.find("name a file in it"), std::string::npos);
}

TEST_F(LineFileTest, ADescriptorIsNotInherited) {
  auto file = LineFile::open(dir_ / "out");
  ASSERT_TRUE(file);
  for (int fd = 3; fd < 64; ++fd) {
    char name[64];
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    const ssize_t length = ::readlink(link.c_str(), name, sizeof name);
    if (length > 0 && std::string(name, static_cast<size_t>(length)) == dir_ / "out") {
      EXPECT_TRUE(::fcntl(fd, F_GETFD) & FD_CLOEXEC);
    }
  }
}

TEST_F(LineFileTest, FullDeviceIsAnErrorEveryTime) {
  auto file = LineFile::open("/dev/full");
  ASSERT_TRUE(file);
  for (int i = 0; i < 3; ++i) {
    const Status status = file->write("row\n");
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Code::io);
    EXPECT_NE(status.error().message().find("No space left"), std::string::npos);
  }
}

TEST_F(LineFileTest, ATornLineIsCutOffAndTheNextIsTried) {
  // A file size limit tears a line as a full disk does, without needing one.
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{10, RLIM_INFINITY};
    auto file = LineFile::open(dir_ / "out");
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const bool first = static_cast<bool>(file->write("12345\n"));
    const bool torn = static_cast<bool>(file->write("abcdefgh\n"));
    const bool small = static_cast<bool>(file->write("789\n"));
    ::_exit(first && !torn && small ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(slurp(dir_ / "out"), "12345\n789\n");
}

TEST_F(LineFileTest, AFullDiskKeepsWholeLinesOnly) {
  const SmallDisk disk("16k");
  if (!disk.is_mounted()) GTEST_SKIP() << "may not mount";
  auto file = LineFile::open(disk.path() + "/out");
  const std::string line(999, 'x');
  int failures = 0;
  for (int i = 0; i < 40; ++i) failures += file->write(line + "\n") ? 0 : 1;
  EXPECT_GT(failures, 10);
  const std::string text = slurp(disk.path() + "/out");
  EXPECT_GE(text.size(), 8000u);
  EXPECT_EQ(text.size() % 1000, 0u);
  ASSERT_EQ(::truncate((disk.path() + "/out").c_str(), 1000), 0);  // there is room again
  EXPECT_TRUE(file->write("more\n"));
  EXPECT_TRUE(slurp(disk.path() + "/out").ends_with("x\nmore\n"));
}

TEST_F(LineFileTest, AClosedPipeIsAnErrorNotADeath) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  Fd read_end(ends[0]), write_end(ends[1]);
  const Stdout redirect(write_end.get());
  auto file = LineFile::open("-");
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write("one\n"));
  EXPECT_EQ(read_available(read_end.get()), "one\n");
  read_end.reset();
  const Status status = file->write("two\n");
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message().find("Broken pipe"), std::string::npos);
}

TEST_F(LineFileTest, AStoppedReaderDropsLinesAndKeepsOthersWhole) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd read_end(ends[0]), write_end(ends[1]);
  ASSERT_GT(::fcntl(write_end.get(), F_SETPIPE_SZ, 4096), 0);
  const Stdout redirect(write_end.get());
  auto file = LineFile::open("-");
  ASSERT_TRUE(file);
  const std::string line = std::string(2999, 'y') + "\n";
  bool dropped = false;
  for (int i = 0; i < 20; ++i) dropped = !file->write(line) || dropped;
  EXPECT_TRUE(dropped);
  // The shared description still blocks: it is the job's.
  EXPECT_EQ(::fcntl(write_end.get(), F_GETFL) & O_NONBLOCK, 0);
  // Once the reader is back, lines are whole again.
  std::string got = read_available(read_end.get());
  ASSERT_TRUE(file->write("next\n"));
  got += read_available(read_end.get());
  EXPECT_TRUE(got.ends_with("y\nnext\n"));
  EXPECT_EQ((got.size() - 5) % line.size(), 0u);
}

TEST_F(LineFileTest, ALongLineGoesOutInPiecesToASlowReader) {
  const std::string fifo = dir_ / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = slurp(fifo); });
  {
    auto file = LineFile::open(fifo);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write(std::string(300'000, 'z') + "\n", 5000));
    ASSERT_TRUE(file->write("end\n", 5000));
  }
  reader.join();
  EXPECT_EQ(got, std::string(300'000, 'z') + "\nend\n");
}

TEST_F(LineFileTest, AFifoWithoutAReaderIsRefused) {
  const std::string fifo = dir_ / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const auto file = LineFile::open(fifo);
  ASSERT_FALSE(file);
  EXPECT_NE(file.error().hint.find("start its reader first"), std::string::npos);
}

TEST_F(LineFileTest, AStoppedSocketNeverBlocks) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const Fd peer(ends[0]), own(ends[1]);
  const Stdout redirect(own.get());
  auto file = LineFile::open("-");
  ASSERT_TRUE(file);
  bool dropped = false;
  for (int i = 0; i < 2000 && !dropped; ++i) dropped = !file->write(std::string(999, 's') + "\n");
  EXPECT_TRUE(dropped);
}

TEST_F(LineFileTest, AnInheritedFileIsSharedWithTheJob) {
  const Fd shared(::open((dir_ / "shared").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const Stdout redirect(shared.get());
  auto file = LineFile::open("-");
  ASSERT_TRUE(file);
  ASSERT_EQ(::write(shared.get(), "job\n", 4), 4);
  ASSERT_TRUE(file->write("tacho\n"));
  ASSERT_EQ(::write(shared.get(), "job\n", 4), 4);
  EXPECT_EQ(slurp(dir_ / "shared"), "job\ntacho\njob\n");
}

TEST_F(LineFileTest, TheLockTellsWhetherTheWriterLives) {
  EXPECT_EQ(probe_lock(dir_ / "missing"), LockState::unknown);
  {
    auto file = LineFile::open(dir_ / "out");
    ASSERT_TRUE(file);
    EXPECT_EQ(probe_lock(dir_ / "out"), LockState::free);
    ASSERT_TRUE(file->lock());
    EXPECT_EQ(probe_lock(dir_ / "out"), LockState::held);
  }
  EXPECT_EQ(probe_lock(dir_ / "out"), LockState::free);
}

}  // namespace
}  // namespace tacho
