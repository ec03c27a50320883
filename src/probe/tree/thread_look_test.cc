// What a thread waits for, where the kernel tells less than usual or nonsense: a tree of files instead of /proc.
#include "probe/tree/thread_look.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tacho {
namespace {

class OddProc : public testing::Test {
 protected:
  OddProc() {
    proc_ = std::filesystem::temp_directory_path() / ("tacho-look-" + std::to_string(::getpid()));
    std::filesystem::remove_all(proc_);
    std::filesystem::create_directories(proc_ / "7/task/7");
  }
  ~OddProc() override { std::filesystem::remove_all(proc_); }

  void put(const std::string& file, const std::string& text) const {
    for (const char* folder : {"7/task/7", "7"}) std::ofstream(proc_ / folder / file) << text;
  }
  void state(char letter) const {
    put("stat",
        std::string("7 (a job) ") + letter +
            " 1 7 7 0 -1 4194560 1 0 0 0 1 1 0 0 20 0 1 0 100 1000000 100 18446744073709551615 0 0 0 0 0 0 0 0 0 "
            "0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
  }
  std::optional<WaitState> look() {
    ThreadLook one(proc_, buffer_);
    LookedThread thread(7);
    const auto found = one.look(7, thread, true);
    by_wchan_ = one.by_wchan();
    return found;
  }

  std::filesystem::path proc_;
  ReadBuffer buffer_;
  int64_t by_wchan_ = 0;
};

TEST_F(OddProc, WithoutSyscallTheNameOfTheFunctionTells) {
  state('S');
  put("wchan", "hrtimer_nanosleep");
  EXPECT_EQ(look(), WaitState::sleep);
  EXPECT_EQ(by_wchan_, 1);
  put("wchan", "futex_do_wait.isra.0");
  EXPECT_EQ(look(), WaitState::idle);  // never a lock
  put("wchan", "wait_woken");          // TCP, a terminal or inotify
  EXPECT_EQ(look(), WaitState::other);
}

TEST_F(OddProc, WithoutEitherASleepingThreadIsOther) {
  state('S');
  EXPECT_EQ(look(), WaitState::other);
  put("wchan", "0");  // forbidden, or a kernel without symbols: not a thread that runs
  EXPECT_EQ(look(), WaitState::other);
  put("wchan", "");
  EXPECT_EQ(look(), WaitState::other);
  state('D');
  EXPECT_EQ(look(), WaitState::disk);
  state('R');
  EXPECT_EQ(look(), WaitState::cpu);
  state('T');
  EXPECT_EQ(look(), WaitState::other);
}

TEST_F(OddProc, AReadOfWhatHasAPathMayBeOneOfAFifo) {
  put("syscall", "0 0x3 0x7f0000000000 0x1 0x0 0x0 0x0 0x7ffe00000000 0x7f0000000010\n");
  std::filesystem::create_directories(proc_ / "7/fd");
  std::filesystem::create_symlink("/data/what", proc_ / "7/fd/3");
  state('D');
  EXPECT_EQ(look(), WaitState::disk);
  state('S');
  put("wchan", "anon_pipe_read");
  EXPECT_EQ(look(), WaitState::pipe);
  put("wchan", "request_wait_answer");
  EXPECT_EQ(look(), WaitState::disk);
  put("wchan", "get_signal");  // frozen
  EXPECT_EQ(look(), WaitState::other);
  put("wchan", "0");  // a kernel without symbols: either
  EXPECT_EQ(look(), WaitState::other);
  state('R');  // by now
  EXPECT_EQ(look(), WaitState::cpu);
}

// One that computed, in a cgroup of v1.
TEST_F(OddProc, WhoIsFrozenWaitsForNoDisk) {
  put("syscall", "-1 0x7ffe00000000 0x7f0000000010\n");
  state('D');
  put("wchan", "__refrigerator");
  EXPECT_EQ(look(), WaitState::other);
  put("wchan", "folio_wait_bit_common");
  EXPECT_EQ(look(), WaitState::disk);
}

TEST_F(OddProc, NonsenseIsNotBelieved) {
  state('S');
  put("wchan", "do_wait");
  for (const char* text : {"", "x", "-", "999999999999999999999 0x1", "0x", "1 2 3"}) {
    put("syscall", text);
    EXPECT_TRUE(look().has_value()) << text;
  }
  put("syscall", "running\n");
  EXPECT_EQ(look(), WaitState::cpu);
}

TEST_F(OddProc, AThreadThatIsGone) {
  std::filesystem::remove_all(proc_ / "7/task/7");
  EXPECT_FALSE(look());
  std::filesystem::remove_all(proc_ / "7");
  EXPECT_FALSE(look());
}

}  // namespace
}  // namespace tacho
