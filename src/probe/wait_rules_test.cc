#include "probe/tree/wait_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "probe/waits.h"

namespace tacho {
namespace {

using enum WaitState;

CallMeaning called(int64_t number, CallTable table, std::array<uint64_t, 6> arguments = {}) {
  ThreadSyscall call;
  call.kind = ThreadSyscall::Kind::inside;
  call.number = number;
  call.arguments = arguments;
  return meaning_of(call, table);
}

TEST(WaitRules, NumbersOfEachArchitecture) {
  struct Case {
    const char* name;
    std::array<int, 4> numbers;  // x86_64, i386, generic, arm
    CallKind kind;
    WaitState state;
  };
  const Case cases[] = {
      {"read", {0, 3, 63, 3}, CallKind::descriptor, other},
      {"pwrite64", {18, 181, 68, 181}, CallKind::descriptor, other},
      {"ioctl", {16, 54, 29, 54}, CallKind::descriptor, other},
      {"fsync", {74, 118, 82, 118}, CallKind::decided, disk},
      {"recvfrom", {45, 371, 207, 292}, CallKind::descriptor, other},
      {"poll/ppoll", {7, 168, 73, 168}, CallKind::poll, other},
      {"select", {23, 142, 72, 142}, CallKind::select, other},
      {"epoll_wait", {232, 256, 22, 252}, CallKind::epoll, other},
      {"splice", {275, 313, 76, 340}, CallKind::decided, pipe},
      {"wait4", {61, 114, 260, 114}, CallKind::decided, child},
      {"nanosleep", {35, 162, 101, 162}, CallKind::decided, sleep},
      {"clock_nanosleep", {230, 267, 115, 265}, CallKind::decided, sleep},
      {"flock", {73, 143, 32, 143}, CallKind::decided, lock},
      {"io_uring_enter", {426, 426, 426, 426}, CallKind::decided, other},
      {"sendfile", {40, 187, 71, 187}, CallKind::send_file, other},
  };
  for (const Case& one : cases)
    for (size_t table = 0; table < 4; ++table) {
      const CallMeaning meaning = called(one.numbers[table], static_cast<CallTable>(table));
      EXPECT_EQ(meaning.kind, one.kind) << one.name << table;
      if (one.kind == CallKind::decided) { EXPECT_EQ(meaning.state, one.state) << one.name << table; }
    }
  EXPECT_EQ(called(9999, CallTable::x86_64).kind, CallKind::by_wchan);
  EXPECT_EQ(called(0, CallTable::none).kind, CallKind::by_wchan);
  EXPECT_EQ(called(0x40000000, CallTable::x86_64).kind, CallKind::descriptor);  // x32's read
  EXPECT_EQ(called(2, CallTable::x86_64).kind, CallKind::by_wchan);             // open: by its state
  EXPECT_EQ(called(219, CallTable::x86_64).kind, CallKind::by_wchan);           // restart_syscall
}

TEST(WaitRules, Futex) {
  const auto futex = [](uint64_t operation, uint64_t value) {
    return called(202, CallTable::x86_64, {1, operation, value}).state;
  };
  constexpr uint64_t kPrivate = 128, kRealtime = 256;
  for (const uint64_t wait : {uint64_t{0}, uint64_t{9}})
    for (const uint64_t flags : {uint64_t{0}, kPrivate, kPrivate | kRealtime}) {
      EXPECT_EQ(futex(wait | flags, 2), lock);
      EXPECT_EQ(futex(wait | flags, 3), lock);
      EXPECT_EQ(futex(wait | flags, 0x80000000), lock);
      EXPECT_EQ(futex(wait | flags, 0xffffffffffffffff), lock);
      for (const uint64_t count : {0, 1, 4, 100}) EXPECT_EQ(futex(wait | flags, count), idle);
    }
  EXPECT_EQ(futex(6, 0), lock);   // FUTEX_LOCK_PI
  EXPECT_EQ(futex(13, 0), lock);  // FUTEX_LOCK_PI2
  EXPECT_EQ(futex(11, 2), idle);  // FUTEX_WAIT_REQUEUE_PI
  EXPECT_EQ(called(455, CallTable::x86_64, {1, 2}).state, lock);
  EXPECT_EQ(called(455, CallTable::x86_64, {1, 7}).state, idle);
  EXPECT_EQ(called(449, CallTable::x86_64, {1, 2, 2}).state, idle);
}

TEST(WaitRules, LocksOfRecordsAndTheOldCallOfI386) {
  EXPECT_EQ(called(72, CallTable::x86_64, {3, 7}).state, lock);   // F_SETLKW
  EXPECT_EQ(called(72, CallTable::x86_64, {3, 38}).state, lock);  // F_OFD_SETLKW
  EXPECT_EQ(called(72, CallTable::x86_64, {3, 6}).state, other);  // F_SETLK does not wait
  EXPECT_EQ(called(221, CallTable::i386, {3, 14}).state, lock);   // F_SETLKW64
  EXPECT_EQ(called(117, CallTable::i386, {1}).state, lock);       // ipc: SEMOP
  EXPECT_EQ(called(117, CallTable::i386, {12}).state, pipe);      // MSGRCV
  EXPECT_TRUE(called(102, CallTable::i386).has_socket);
}

TEST(WaitRules, Descriptors) {
  EXPECT_EQ(state_on(fd_kind_of_link("/data/file")), disk);
  EXPECT_EQ(state_on(fd_kind_of_link("/data/file (deleted)")), disk);
  EXPECT_EQ(state_on(fd_kind_of_link("pipe:[123]")), pipe);
  EXPECT_EQ(state_on(fd_kind_of_link("anon_inode:[timerfd]")), sleep);
  EXPECT_EQ(fd_kind_of_link("anon_inode:[pidfd]"), FdKind::process);
  for (const char* path : {"/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/dri/renderD128", "/dev/kfd"})
    EXPECT_EQ(state_on(fd_kind_of_link(path)), gpu) << path;
  for (const char* path :
       {"/dev/pts/0", "/dev/null", "anon_inode:[eventfd]", "anon_inode:inotify", "anon_inode:[io_uring]"})
    EXPECT_EQ(state_on(fd_kind_of_link(path)), other) << path;
  EXPECT_EQ(fd_kind_of_link("socket:[5]"), FdKind::socket);
  EXPECT_EQ(fd_kind_of_link(""), FdKind::unknown);
  for (const char* name : {"TCP", "TCPv6", "UDP", "UDPv6", "NETLINK", "MPTCP"})
    EXPECT_EQ(state_on(socket_kind(name)), network) << name;
  for (const char* name : {"UNIX", "UNIX-STREAM"}) EXPECT_EQ(state_on(socket_kind(name)), pipe) << name;
  EXPECT_EQ(socket_kind(""), FdKind::socket);
}

TEST(WaitRules, SeveralDescriptors) {
  const auto all = [](std::initializer_list<FdKind> kinds) {
    FdSet set;
    for (const FdKind kind : kinds) set.add(kind);
    return set.state();
  };
  EXPECT_EQ(all({}), sleep);
  EXPECT_EQ(all({FdKind::net_socket}), network);
  EXPECT_EQ(all({FdKind::other, FdKind::pipe, FdKind::net_socket}), network);
  EXPECT_EQ(all({FdKind::pipe, FdKind::unix_socket}), pipe);
  EXPECT_EQ(all({FdKind::pipe, FdKind::other}), other);
  EXPECT_EQ(all({FdKind::process}), child);
  EXPECT_EQ(all({FdKind::timer}), sleep);
  EXPECT_EQ(all({FdKind::gpu, FdKind::other}), gpu);
  EXPECT_EQ(all({FdKind::other}), other);
}

TEST(WaitRules, Wchan) {
  const std::pair<const char*, WaitState> cases[] = {
      {"folio_wait_bit_common", disk},
      {"wait_on_page_bit_killable", disk},
      {"blk_mq_get_tag", disk},
      {"__iomap_dio_rw", disk},
      {"iomap_dio_rw", disk},
      {"jbd2_log_wait_commit", disk},
      {"nfs4_run_open_task", disk},
      {"nfs_wait_bit_killable", disk},
      {"fuse_dev_do_read", disk},
      {"request_wait_answer", disk},
      {"sk_wait_data", network},
      {"sk_stream_wait_memory", network},
      {"inet_csk_accept", network},
      {"tcp_recvmsg_locked", network},
      {"pipe_read", pipe},
      {"anon_pipe_read", pipe},
      {"anon_pipe_write", pipe},
      {"pipe_wait_readable", pipe},
      {"wait_for_partner", pipe},
      {"unix_stream_read_generic", pipe},
      {"do_msgrcv", pipe},
      {"wq_sleep", pipe},
      {"__do_semtimedop", lock},
      {"do_semtimedop", lock},
      {"fcntl_setlk", lock},
      {"fcntl_setlk64", lock},
      {"rt_mutex_schedule", lock},
      {"futex_wait_queue_me", idle},
      {"futex_wait_queue", idle},
      {"futex_do_wait", idle},
      {"do_wait", child},
      {"kernel_clone", child},
      {"hrtimer_nanosleep", sleep},
      {"__x64_sys_pause", sleep},
      {"sigsuspend", sleep},
      {"do_sigtimedwait", sleep},
      {"nv_wait", gpu},
      {"drm_syncobj_wait", gpu},
      {"dma_fence_default_wait", gpu},
      {"poll_schedule_timeout", other},
      {"ep_poll", other},
      {"do_epoll_wait", other},
      {"do_select", other},
      {"wait_woken", other},
      {"__skb_wait_for_more_packets", other},
      {"something_new", other},
      {"", other},
  };
  for (const auto& [name, state] : cases) EXPECT_EQ(state_by_wchan(name, 'S', false), state) << name;
  EXPECT_EQ(state_by_wchan("something_new", 'D', false), disk);
  EXPECT_EQ(state_by_wchan("wait_woken", 'S', true), network);
  EXPECT_EQ(state_by_wchan("__skb_wait_for_more_packets", 'S', true), network);
}

TEST(Waits, EveryThreadIsLookedAtInItsTurn) {
  for (const int64_t threads : {65, 100, 127, 128, 129, 191, 200, 1000, 4097}) {
    std::vector<int> looks(static_cast<size_t>(threads));
    for (int64_t tick = 5; tick < 5 + (threads + kMostLooks - 1) / kMostLooks; ++tick) {
      int64_t last = -1;
      for (int64_t nth = 0; nth < kMostLooks; ++nth) {
        const int64_t place = looked_place(threads, tick, nth);
        EXPECT_GT(place, last) << threads;
        last = place;
        if (place < threads) ++looks[static_cast<size_t>(place)];
      }
    }
    EXPECT_EQ(std::count(looks.begin(), looks.end(), 0), 0) << threads;
  }
}

TEST(Waits, WholeNumbersThatAddUp) {
  const auto sum = [](const WaitCounts& counts) { return std::accumulate(counts.begin(), counts.end(), int64_t{0}); };
  EXPECT_EQ(scaled_waits({1, 2, 0, 0, 0, 0, 0, 0, 0, 0}, 3, false), (WaitCounts{1, 2}));
  EXPECT_EQ(scaled_waits({1, 2}, 5, false), (WaitCounts{1, 2, 0, 0, 0, 0, 0, 0, 0, 2}));  // two could not be looked at
  EXPECT_EQ(scaled_waits({}, 5, false), (WaitCounts{0, 0, 0, 0, 0, 0, 0, 0, 0, 5}));
  EXPECT_EQ(scaled_waits({}, 0, false), WaitCounts{});
  EXPECT_EQ(sum(scaled_waits({3, 1}, 2, false)), 2);  // some ended meanwhile
  const WaitCounts large = scaled_waits({32, 16, 1, 0, 0, 0, 0, 0, 15, 0}, 10'000, true);
  EXPECT_EQ(sum(large), 10'000);
  EXPECT_EQ(large[0], 5000);
  for (int64_t threads = 65; threads < 300; ++threads)
    EXPECT_EQ(sum(scaled_waits({7, 9, 11, 13, 1, 1, 1, 1, 10, 10}, threads, true)), threads);
}

}  // namespace
}  // namespace tacho
