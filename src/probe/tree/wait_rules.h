// In which state a thread is, by the system call that it is inside of and by the kernel function that it sleeps in:
// tables, and pure functions over them. Constant data; thread-safe.
#pragma once
#include <cstdint>
#include <string_view>

#include "procfs/thread_files.h"

namespace tacho {

// In the order of the columns process_waits_*.
enum class WaitState : uint8_t { cpu, disk, network, lock, child, pipe, sleep, gpu, idle, other };
inline constexpr size_t kWaitStates = static_cast<size_t>(WaitState::other) + 1;

// What has to be looked at to tell the state.
enum class CallKind : uint8_t {
  by_wchan,    // this call does not decide
  descriptor,  // what the first argument is
  send_file,   // where it is sent to, else where it comes from
  poll,
  select,
  epoll,
  decided,  // `state` says it
};
struct CallMeaning {
  CallKind kind = CallKind::by_wchan;
  WaitState state = WaitState::other;
  bool has_socket = false;  // the call is one on a socket, whichever
};

// Whose numbers: those of the kernel's own programs, or of 32-bit ones on the same kernel.
enum class CallTable : uint8_t { x86_64, i386, generic, arm, none };
CallTable call_table(bool is_32_bit);
CallMeaning meaning_of(const ThreadSyscall& call, CallTable table);

// What a descriptor is, as far as a wait tells.
enum class FdKind : uint8_t { unknown, file, pipe, unix_socket, net_socket, socket, timer, process, gpu, other };
// By what the link in /proc/PID/fd says; `file` stands for anything with a path outside of /dev.
FdKind fd_kind_of_link(std::string_view link);
// By the attribute system.sockprotoname.
FdKind socket_kind(std::string_view protocol);
WaitState state_on(FdKind kind);

// Several of them, as poll, select and epoll wait for: the network where it is among them, else what all of them are.
class FdSet {
 public:
  void add(FdKind kind);
  bool empty() const { return count_ == 0; }
  bool unknown() const { return unknown_; }  // one of them could not be told
  WaitState state() const;

 private:
  int count_ = 0;
  bool unknown_ = false, network_ = false, gpu_ = false, all_pipes_ = true, all_timers_ = true, all_processes_ = true;
};

// It waits for nothing: its cgroup is frozen (docker pause), and it was about to leave the kernel, whatever for it
// came.
bool is_frozen(std::string_view wchan);
// state: the letter of stat. with_socket: the call is known to be on one, of whichever family.
WaitState state_by_wchan(std::string_view wchan, char state, bool with_socket);

}  // namespace tacho
