#include "probe/tree/wait_rules.h"

#include <array>

namespace tacho {
namespace {

using enum WaitState;

enum class SystemCall : uint8_t {
  on_descriptor,
  on_socket,
  send_file,
  disk,
  poll,
  select,
  epoll,
  pipe,
  futex,
  futex_wait,
  idle,
  record_lock,
  lock,
  ipc,
  socket_call,
  child,
  sleep,
  other,
};

constexpr int16_t kNone = -1;
struct SystemCallRow {
  SystemCall call;
  std::array<int16_t, 4> numbers;  // x86_64, i386, generic (arm64, riscv64), arm
};

// What is not listed is told by wchan: open, stat and the like wait for a disk when they are in state D.
constexpr auto kCalls = std::to_array<SystemCallRow>({
    {SystemCall::on_descriptor, {0, 3, 63, 3}},             // read
    {SystemCall::on_descriptor, {1, 4, 64, 4}},             // write
    {SystemCall::on_descriptor, {19, 145, 65, 145}},        // readv
    {SystemCall::on_descriptor, {20, 146, 66, 146}},        // writev
    {SystemCall::on_descriptor, {17, 180, 67, 180}},        // pread64
    {SystemCall::on_descriptor, {18, 181, 68, 181}},        // pwrite64
    {SystemCall::on_descriptor, {295, 333, 69, 361}},       // preadv
    {SystemCall::on_descriptor, {296, 334, 70, 362}},       // pwritev
    {SystemCall::on_descriptor, {327, 378, 286, 392}},      // preadv2
    {SystemCall::on_descriptor, {328, 379, 287, 393}},      // pwritev2
    {SystemCall::on_descriptor, {16, 54, 29, 54}},          // ioctl
    {SystemCall::send_file, {40, 187, 71, 187}},            // sendfile
    {SystemCall::send_file, {kNone, 239, kNone, 239}},      // sendfile64
    {SystemCall::disk, {326, 377, 285, 391}},               // copy_file_range
    {SystemCall::disk, {74, 118, 82, 118}},                 // fsync
    {SystemCall::disk, {75, 148, 83, 148}},                 // fdatasync
    {SystemCall::disk, {162, 36, 81, 36}},                  // sync
    {SystemCall::disk, {306, 344, 267, 373}},               // syncfs
    {SystemCall::disk, {277, 314, 84, 341}},                // sync_file_range
    {SystemCall::disk, {26, 144, 227, 144}},                // msync
    {SystemCall::disk, {208, 247, 4, 245}},                 // io_getevents
    {SystemCall::disk, {333, 385, 292, 399}},               // io_pgetevents
    {SystemCall::disk, {kNone, 416, kNone, 416}},           // io_pgetevents_time64
    {SystemCall::on_socket, {42, 362, 203, 283}},           // connect
    {SystemCall::on_socket, {43, kNone, 202, 285}},         // accept
    {SystemCall::on_socket, {288, 364, 242, 366}},          // accept4
    {SystemCall::on_socket, {45, 371, 207, 292}},           // recvfrom
    {SystemCall::on_socket, {47, 372, 212, 297}},           // recvmsg
    {SystemCall::on_socket, {299, 337, 243, 365}},          // recvmmsg
    {SystemCall::on_socket, {kNone, 417, kNone, 417}},      // recvmmsg_time64
    {SystemCall::on_socket, {44, 369, 206, 290}},           // sendto
    {SystemCall::on_socket, {46, 370, 211, 296}},           // sendmsg
    {SystemCall::on_socket, {307, 345, 269, 374}},          // sendmmsg
    {SystemCall::on_socket, {kNone, kNone, kNone, 291}},    // recv
    {SystemCall::on_socket, {kNone, kNone, kNone, 289}},    // send
    {SystemCall::socket_call, {kNone, 102, kNone, kNone}},  // socketcall
    {SystemCall::poll, {7, 168, kNone, 168}},               // poll
    {SystemCall::poll, {271, 309, 73, 336}},                // ppoll
    {SystemCall::poll, {kNone, 414, kNone, 414}},           // ppoll_time64
    {SystemCall::select, {23, kNone, kNone, kNone}},        // select; of i386 one with a block of arguments
    {SystemCall::select, {kNone, 142, kNone, 142}},         // _newselect
    {SystemCall::select, {270, 308, 72, 335}},              // pselect6
    {SystemCall::select, {kNone, 413, kNone, 413}},         // pselect6_time64
    {SystemCall::epoll, {232, 256, kNone, 252}},            // epoll_wait
    {SystemCall::epoll, {281, 319, 22, 346}},               // epoll_pwait
    {SystemCall::epoll, {441, 441, 441, 441}},              // epoll_pwait2
    {SystemCall::pipe, {275, 313, 76, 340}},                // splice
    {SystemCall::pipe, {276, 315, 77, 342}},                // tee
    {SystemCall::pipe, {278, 316, 75, 343}},                // vmsplice
    {SystemCall::pipe, {70, 401, 188, 302}},                // msgrcv
    {SystemCall::pipe, {69, 400, 189, 301}},                // msgsnd
    {SystemCall::pipe, {242, 279, 182, 276}},               // mq_timedsend
    {SystemCall::pipe, {243, 280, 183, 277}},               // mq_timedreceive
    {SystemCall::pipe, {kNone, 418, kNone, 418}},           // mq_timedsend_time64
    {SystemCall::pipe, {kNone, 419, kNone, 419}},           // mq_timedreceive_time64
    {SystemCall::futex, {202, 240, 98, 240}},               // futex
    {SystemCall::futex, {kNone, 422, kNone, 422}},          // futex_time64
    {SystemCall::futex_wait, {455, 455, 455, 455}},         // futex_wait
    {SystemCall::idle, {449, 449, 449, 449}},               // futex_waitv
    {SystemCall::record_lock, {72, 55, 25, 55}},            // fcntl
    {SystemCall::record_lock, {kNone, 221, kNone, 221}},    // fcntl64
    {SystemCall::lock, {73, 143, 32, 143}},                 // flock
    {SystemCall::lock, {65, kNone, 193, 298}},              // semop
    {SystemCall::lock, {220, kNone, 192, 312}},             // semtimedop
    {SystemCall::lock, {kNone, 420, kNone, 420}},           // semtimedop_time64
    {SystemCall::ipc, {kNone, 117, kNone, kNone}},          // ipc
    {SystemCall::child, {61, 114, 260, 114}},               // wait4
    {SystemCall::child, {247, 284, 95, 280}},               // waitid
    {SystemCall::child, {kNone, 7, kNone, kNone}},          // waitpid
    {SystemCall::child, {58, 190, kNone, 190}},             // vfork
    {SystemCall::child, {56, 120, 220, 120}},               // clone, which waits only as vfork does
    {SystemCall::child, {435, 435, 435, 435}},              // clone3
    {SystemCall::sleep, {35, 162, 101, 162}},               // nanosleep
    {SystemCall::sleep, {230, 267, 115, 265}},              // clock_nanosleep
    {SystemCall::sleep, {kNone, 407, kNone, 407}},          // clock_nanosleep_time64
    {SystemCall::sleep, {34, 29, kNone, 29}},               // pause
    {SystemCall::sleep, {130, 179, 133, 179}},              // rt_sigsuspend
    {SystemCall::sleep, {kNone, 72, kNone, 72}},            // sigsuspend
    {SystemCall::sleep, {128, 177, 137, 177}},              // rt_sigtimedwait
    {SystemCall::sleep, {kNone, 421, kNone, 421}},          // rt_sigtimedwait_time64
    {SystemCall::other, {426, 426, 426, 426}},              // io_uring_enter
});

// A mutex or rwlock of glibc, musl, Rust or Go's runtime sleeps with 2, 3 or its highest bit; whoever waits for a
// condition, a semaphore or the end of a thread sleeps with a count.
WaitState by_expected_value(uint64_t argument) {
  const auto value = static_cast<uint32_t>(argument);
  return value == 2 || value == 3 || (value >> 31) != 0 ? lock : idle;
}

WaitState futex_state(const ThreadSyscall& call) {
  constexpr uint64_t kCommand = 0x7f, kWait = 0, kLockPi = 6, kWaitBitset = 9, kLockPi2 = 13;
  const uint64_t command = call.arguments[1] & kCommand;
  if (command == kLockPi || command == kLockPi2) return lock;
  return command == kWait || command == kWaitBitset ? by_expected_value(call.arguments[2]) : idle;
}

WaitState record_lock_state(const ThreadSyscall& call) {
  constexpr uint64_t kSetLockWait = 7, kSetLockWait64 = 14, kOpenFileLockWait = 38;
  const uint64_t command = call.arguments[1];
  return command == kSetLockWait || command == kSetLockWait64 || command == kOpenFileLockWait ? lock : other;
}

WaitState ipc_state(const ThreadSyscall& call) {
  constexpr uint64_t kSemop = 1, kSemtimedop = 4, kMsgsnd = 11, kMsgrcv = 12;
  const uint64_t command = call.arguments[0] & 0xffff;
  return command == kSemop || command == kSemtimedop ? lock : command == kMsgsnd || command == kMsgrcv ? pipe : other;
}

struct WchanRow {
  std::string_view pattern;  // a star at its start or end stands for anything
  WaitState state;
};
constexpr auto kWchans = std::to_array<WchanRow>({
    {"folio_wait_bit*", disk},
    {"wait_on_page_bit*", disk},
    {"__lock_page*", disk},
    {"folio_lock*", disk},
    {"filemap_*", disk},
    {"submit_bio_wait", disk},
    {"blk_*", disk},
    {"rq_qos_wait", disk},
    {"wbt_wait", disk},
    {"__wait_on_buffer", disk},
    {"*iomap_dio_rw", disk},
    {"dio_*", disk},
    {"blkdev_*", disk},
    {"ext4_*", disk},
    {"__ext4_*", disk},
    {"jbd2_*", disk},
    {"wait_transaction_locked", disk},
    {"add_transaction_credits", disk},
    {"xfs_*", disk},
    {"xlog_*", disk},
    {"btrfs_*", disk},
    {"f2fs_*", disk},
    {"balance_dirty_pages*", disk},
    {"read_events", disk},
    {"nfs*", disk},
    {"rpc_wait_bit_killable", disk},
    {"request_wait_answer", disk},
    {"fuse_*", disk},
    {"p9_*", disk},
    {"sk_wait_data", network},
    {"sk_stream_wait_*", network},
    {"inet_csk_accept", network},
    {"inet_stream_connect", network},
    {"inet_wait_for_connect", network},
    {"tcp_*", network},
    {"*pipe_read", pipe},
    {"*pipe_write", pipe},
    {"pipe_wait*", pipe},
    {"wait_for_partner", pipe},
    {"unix_*", pipe},
    {"sock_alloc_send_pskb", pipe},
    {"do_msgrcv", pipe},
    {"do_msgsnd", pipe},
    {"wq_sleep", pipe},
    {"locks_lock_inode_wait", lock},
    {"fcntl_setlk*", lock},
    {"posix_lock*", lock},
    {"*do_semtimedop", lock},
    {"rt_mutex_*", lock},
    {"futex_wait_queue_me", idle},
    {"futex_wait_queue", idle},
    {"futex_do_wait", idle},
    {"do_wait", child},
    {"wait_for_vfork_done", child},
    {"kernel_clone", child},
    {"hrtimer_nanosleep", sleep},
    {"do_nanosleep", sleep},
    {"*sys_pause", sleep},
    {"sigsuspend", sleep},
    {"do_sigtimedwait", sleep},
    {"nv_*", gpu},
    {"os_acquire_*", gpu},
    {"amdgpu_*", gpu},
    {"drm_*", gpu},
    {"dma_fence_*", gpu},
});

bool matches(std::string_view pattern, std::string_view name) {
  if (pattern.starts_with('*')) return name.ends_with(pattern.substr(1));
  if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
  return name == pattern;
}

}  // namespace

CallTable call_table(bool is_32_bit) {
#if defined(__x86_64__)
  return is_32_bit ? CallTable::i386 : CallTable::x86_64;
#elif defined(__aarch64__)
  return is_32_bit ? CallTable::arm : CallTable::generic;
#elif defined(__riscv) && __riscv_xlen == 64
  return is_32_bit ? CallTable::none : CallTable::generic;
#else
  return is_32_bit ? CallTable::none : CallTable::none;
#endif
}

CallMeaning meaning_of(const ThreadSyscall& call, CallTable table) {
  if (table == CallTable::none || call.kind != ThreadSyscall::Kind::inside) return {};
  constexpr int64_t kX32Bit = 0x40000000;
  const int64_t number = table == CallTable::x86_64 ? call.number & ~kX32Bit : call.number;
  for (const SystemCallRow& row : kCalls) {
    if (row.numbers[static_cast<size_t>(table)] != number) continue;
    const auto decided = [](WaitState state) { return CallMeaning{CallKind::decided, state, false}; };
    switch (row.call) {
      case SystemCall::on_descriptor: return {CallKind::descriptor, other, false};
      case SystemCall::on_socket: return {CallKind::descriptor, other, true};
      case SystemCall::socket_call: return {CallKind::by_wchan, other, true};
      case SystemCall::send_file: return {CallKind::send_file, other, false};
      case SystemCall::poll: return {CallKind::poll, other, false};
      case SystemCall::select: return {CallKind::select, other, false};
      case SystemCall::epoll: return {CallKind::epoll, other, false};
      case SystemCall::disk: return decided(WaitState::disk);
      case SystemCall::pipe: return decided(WaitState::pipe);
      case SystemCall::futex: return decided(futex_state(call));
      case SystemCall::futex_wait: return decided(by_expected_value(call.arguments[1]));
      case SystemCall::idle: return decided(WaitState::idle);
      case SystemCall::record_lock: return decided(record_lock_state(call));
      case SystemCall::lock: return decided(WaitState::lock);
      case SystemCall::ipc: return decided(ipc_state(call));
      case SystemCall::child: return decided(WaitState::child);
      case SystemCall::sleep: return decided(WaitState::sleep);
      case SystemCall::other: return decided(WaitState::other);
    }
  }
  return {};
}

FdKind fd_kind_of_link(std::string_view link) {
  if (link.starts_with("pipe:[")) return FdKind::pipe;
  if (link.starts_with("socket:[")) return FdKind::socket;
  if (link == "anon_inode:[timerfd]") return FdKind::timer;
  if (link == "anon_inode:[pidfd]" || link.starts_with("pidfd:[")) return FdKind::process;
  for (const std::string_view device : {"/dev/nvidia", "/dev/dri/", "/dev/kfd"})
    if (link.starts_with(device)) return FdKind::gpu;
  if (link.empty()) return FdKind::unknown;
  return link[0] == '/' && !link.starts_with("/dev/") ? FdKind::file : FdKind::other;
}

FdKind socket_kind(std::string_view protocol) {
  if (protocol.empty()) return FdKind::socket;
  return protocol.starts_with("UNIX") ? FdKind::unix_socket : FdKind::net_socket;
}

WaitState state_on(FdKind kind) {
  switch (kind) {
    case FdKind::file: return disk;
    case FdKind::pipe:
    case FdKind::unix_socket: return pipe;
    case FdKind::net_socket: return network;
    case FdKind::timer: return sleep;
    case FdKind::gpu: return gpu;
    default: return other;
  }
}

void FdSet::add(FdKind kind) {
  ++count_;
  unknown_ = unknown_ || kind == FdKind::unknown || kind == FdKind::socket;
  network_ = network_ || kind == FdKind::net_socket;
  gpu_ = gpu_ || kind == FdKind::gpu;
  all_pipes_ = all_pipes_ && (kind == FdKind::pipe || kind == FdKind::unix_socket);
  all_timers_ = all_timers_ && kind == FdKind::timer;
  all_processes_ = all_processes_ && kind == FdKind::process;
}

WaitState FdSet::state() const {
  if (count_ == 0) return sleep;
  if (network_) return network;
  if (gpu_) return gpu;
  return all_pipes_ ? pipe : all_timers_ ? sleep : all_processes_ ? child : other;
}

bool is_frozen(std::string_view wchan) {
  return wchan == "do_freezer_trap" || wchan == "get_signal" || wchan == "__refrigerator";
}

WaitState state_by_wchan(std::string_view wchan, char state, bool with_socket) {
  if (with_socket && (wchan == "wait_woken" || wchan.ends_with("skb_wait_for_more_packets"))) return network;
  for (const WchanRow& row : kWchans)
    if (matches(row.pattern, wchan)) return row.state;
  return state == 'D' ? disk : other;
}

}  // namespace tacho
