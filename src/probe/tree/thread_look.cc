#include "probe/tree/thread_look.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/xattr.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include "procfs/pid_files.h"

namespace tacho {
namespace {

using Path = std::array<char, 64>;
constexpr size_t kMostDescriptors = 8;
constexpr uint8_t kMostRepeats = 20;  // a number may have been closed and opened as something else

Path thread_path(pid_t pid, pid_t tid, const char* file) {
  Path path{};
  std::snprintf(path.data(), path.size(), "%d/task/%d/%s", static_cast<int>(pid), static_cast<int>(tid), file);
  return path;
}

// What a first thread is inside of stands in its process's own folder too, which is found in half the time.
Path syscall_path(pid_t pid, pid_t tid) {
  if (tid != pid) return thread_path(pid, tid, "syscall");
  Path path{};
  std::snprintf(path.data(), path.size(), "%d/syscall", static_cast<int>(pid));
  return path;
}

Path descriptor_path(pid_t pid, const char* folder, int number) {
  Path path{};
  std::snprintf(path.data(), path.size(), "%d/%s/%d", static_cast<int>(pid), folder, number);
  return path;
}

bool read_memory(pid_t pid, uint64_t address, void* into, size_t bytes) {
  const iovec local{into, bytes};
  const iovec remote{reinterpret_cast<void*>(static_cast<uintptr_t>(address)), bytes};  // NOLINT: the job's, not ours
  return ::process_vm_readv(pid, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

}  // namespace

ThreadLook::ThreadLook(std::string proc, ReadBuffer& buffer)
    : proc_(std::move(proc)), proc_fd_(::open(proc_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), buffer_(buffer) {}

std::optional<WaitState> ThreadLook::look(pid_t pid, LookedThread& thread, bool keep) {
  if (!thread.syscall_fd)
    thread.syscall_fd = Fd(::openat(proc_fd_.get(), syscall_path(pid, thread.tid).data(), O_RDONLY | O_CLOEXEC));
  std::string_view text;
  ThreadSyscall call;
  const bool told = thread.syscall_fd && buffer_.read(thread.syscall_fd.get(), text);
  const int error = told ? 0 : errno;
  const bool understood = told && parse_thread_syscall(text, call);
  if (!keep) thread.syscall_fd.reset();
  if (!told && error == ESRCH) return std::nullopt;
  if (!understood) {
    // Not ours to attach to, or a kernel without this file.
    if (error == ENOENT && state_letter(pid, thread.tid) == '\0') return std::nullopt;
    ++by_wchan_;
    return by_wchan(pid, thread.tid, false);
  }
  ++by_syscall_;
  if (call.kind == ThreadSyscall::Kind::running) return WaitState::cpu;
  if (call.kind == ThreadSyscall::Kind::none) return by_wchan(pid, thread.tid, false);
  const CallMeaning meaning = meaning_of(call, call_table(call.is_32_bit));
  if (meaning.kind == CallKind::decided) return meaning.state;
  if (meaning.kind == CallKind::by_wchan) return by_wchan(pid, thread.tid, meaning.has_socket);
  const bool one = meaning.kind == CallKind::descriptor || meaning.kind == CallKind::epoll;
  const bool same = thread.call == call.number && thread.first == call.arguments[0] &&
                    (one || thread.second == call.arguments[1]) && thread.repeats < kMostRepeats;
  if (same) {
    ++thread.repeats;
    return thread.told;
  }
  thread.told = by_descriptors(pid, thread, call, meaning);
  thread.call = thread.told == WaitState::cpu ? -1 : call.number;  // runs by now
  thread.first = call.arguments[0];
  thread.second = call.arguments[1];
  thread.repeats = 0;
  return thread.told;
}

WaitState ThreadLook::by_descriptors(pid_t pid, LookedThread& thread, const ThreadSyscall& call,
                                     const CallMeaning& meaning) {
  const auto first = static_cast<int>(call.arguments[0]), second = static_cast<int>(call.arguments[1]);
  if (meaning.kind == CallKind::descriptor) {
    const auto state = state_of_descriptor(pid, thread.tid, first);
    return state ? *state : by_wchan(pid, thread.tid, meaning.has_socket);
  }
  if (meaning.kind == CallKind::send_file) {
    // Where it goes to may be what it waits for; a disk is waited for in state D.
    const auto goal = state_of_descriptor(pid, thread.tid, first);
    if (goal && *goal != WaitState::disk && state_letter(pid, thread.tid) != 'D') return *goal;
    return state_of_descriptor(pid, thread.tid, second).value_or(WaitState::disk);
  }
  FdSet set;
  bool readable = true;
  if (meaning.kind == CallKind::poll) add_polled(pid, call, set, readable);
  else if (meaning.kind == CallKind::select) add_selected(pid, call, set, readable);
  else add_watched(pid, first, set, readable);
  if (!readable || (set.unknown() && set.state() != WaitState::network)) return WaitState::other;
  if (set.empty() && meaning.kind == CallKind::epoll) return WaitState::other;
  return set.state();
}

// A FIFO with a name looks like a file; only a file is waited for without being disturbed by signals. What else sleeps
// so that signals wake it is told from a file by the kernel function's name, where there are names.
std::optional<WaitState> ThreadLook::state_of_descriptor(pid_t pid, pid_t tid, int number) {
  const FdKind kind = kind_of(pid, number);
  if (kind == FdKind::unknown || kind == FdKind::socket) return std::nullopt;
  if (kind != FdKind::file || state_letter(pid, tid) == 'D') return state_on(kind);
  const WaitState state = by_wchan(pid, tid, false);
  return state == WaitState::pipe || state == WaitState::cpu || !has_name_ ? state : WaitState::disk;
}

void ThreadLook::add_polled(pid_t pid, const ThreadSyscall& call, FdSet& set, bool& readable) {
  struct Polled {
    int32_t number;
    int16_t wanted, found;
  };
  std::array<Polled, kMostDescriptors> polled{};
  const auto count = static_cast<size_t>(std::min<uint64_t>(static_cast<uint32_t>(call.arguments[1]), polled.size()));
  readable = count == 0 || read_memory(pid, call.arguments[0], polled.data(), count * sizeof(Polled));
  for (size_t i = 0; readable && i < count; ++i)
    if (polled[i].number >= 0) set.add(kind_of(pid, polled[i].number));
}

void ThreadLook::add_selected(pid_t pid, const ThreadSyscall& call, FdSet& set, bool& readable) {
  std::array<uint8_t, 128> wanted{};  // 1024 descriptors
  const auto most = static_cast<int>(std::min<uint64_t>(static_cast<uint32_t>(call.arguments[0]), wanted.size() * 8));
  for (size_t i = 1; i <= 3; ++i) {
    std::array<uint8_t, 128> bits{};
    if (call.arguments[i] == 0 || most == 0) continue;
    if (!read_memory(pid, call.arguments[i], bits.data(), (static_cast<size_t>(most) + 7) / 8)) readable = false;
    for (size_t byte = 0; byte < bits.size(); ++byte) wanted[byte] |= bits[byte];
  }
  size_t found = 0;
  for (int number = 0; readable && number < most && found < kMostDescriptors; ++number) {
    if ((wanted[static_cast<size_t>(number) / 8] >> (number % 8) & 1) == 0) continue;
    set.add(kind_of(pid, number));
    ++found;
  }
}

void ThreadLook::add_watched(pid_t pid, int epoll, FdSet& set, bool& readable) {
  std::array<int, kMostDescriptors> watched{};
  size_t count = 0;
  std::string_view text;
  readable = buffer_.read_at(proc_fd_.get(), descriptor_path(pid, "fdinfo", epoll).data(), text);
  if (!readable) return;
  parse_epoll_targets(text, [&](int number) {
    if (count < watched.size()) watched[count++] = number;
  });
  for (size_t i = 0; i < count; ++i) set.add(kind_of(pid, watched[i]));
}

// Never follows the link of a file: that could wait for a server which does not answer.
FdKind ThreadLook::kind_of(pid_t pid, int number) const {
  const Path path = descriptor_path(pid, "fd", number);
  std::array<char, 256> link{};
  const ssize_t length = ::readlinkat(proc_fd_.get(), path.data(), link.data(), link.size());
  if (length <= 0) return FdKind::unknown;
  const std::string_view text(link.data(), static_cast<size_t>(length));
  const FdKind kind = fd_kind_of_link(text);
  if (kind == FdKind::socket) {
    std::array<char, 512> full{};
    std::array<char, 32> protocol{};
    std::snprintf(full.data(), full.size(), "%s/%s", proc_.c_str(), path.data());
    const ssize_t bytes = ::getxattr(full.data(), "system.sockprotoname", protocol.data(), protocol.size() - 1);
    return bytes <= 0 ? kind : socket_kind(protocol.data());
  }
  if (kind != FdKind::other || !text.starts_with("/dev/")) return kind;
  struct stat info {};
  if (::fstatat(proc_fd_.get(), path.data(), &info, 0) != 0) return kind;
  return S_ISBLK(info.st_mode) || S_ISREG(info.st_mode) ? FdKind::file : S_ISFIFO(info.st_mode) ? FdKind::pipe : kind;
}

char ThreadLook::state_letter(pid_t pid, pid_t tid) {
  std::string_view text;
  PidStat stat;
  const bool good = buffer_.read_at(proc_fd_.get(), thread_path(pid, tid, "stat").data(), text);
  return good && parse_pid_stat(text, stat) ? stat.state : '\0';
}

WaitState ThreadLook::by_wchan(pid_t pid, pid_t tid, bool with_socket) {
  const char state = state_letter(pid, tid);
  has_name_ = false;
  if (state == 'R') return WaitState::cpu;
  if (state != 'S' && state != 'D' && state != 'I') return WaitState::other;  // stopped, traced, dead
  std::string_view text;
  if (!buffer_.read_at(proc_fd_.get(), thread_path(pid, tid, "wchan").data(), text))
    return state == 'D' ? WaitState::disk : WaitState::other;
  const std::string_view name = plain_wchan(text);
  if (is_frozen(name)) return WaitState::other;
  has_name_ = name != "0" && !name.empty();
  if (has_name_) return state_by_wchan(name, state, with_socket);
  // It runs by now; or this kernel tells us nothing, and it still sleeps.
  const char now = state_letter(pid, tid);
  return now == 'R' ? WaitState::cpu : now == 'D' ? WaitState::disk : WaitState::other;
}

}  // namespace tacho
