// Parsers of what a thread waits in: /proc/PID/task/TID/{syscall,wchan} and the fdinfo of an epoll. Pure, no
// allocation.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "procfs/scan.h"

namespace tacho {

// `running`, `-1 0x7ffe… 0x7f47…` outside of a system call, or `0 0x3 0x7f47… 0x20000 … 0x7ffe… 0x7f47…`: number, six
// arguments, stack pointer and program counter.
struct ThreadSyscall {
  enum class Kind : uint8_t { running, none, inside } kind = Kind::none;
  int64_t number = -1;
  std::array<uint64_t, 6> arguments{};
  bool is_32_bit = false;  // by where its stack and its code are
};
bool parse_thread_syscall(std::string_view text, ThreadSyscall& out);

// The name without what a compiler put behind it (.isra.0, .constprop.0, .part.0) and without its line end.
std::string_view plain_wchan(std::string_view text);

// `tfd:        5 events:       19 data:                5  pos:0 ino:5e sdev:c`. Calls visit(descriptor).
template <class Visit>
void parse_epoll_targets(std::string_view text, Visit&& visit) {
  for (Scanner scan(text); !scan.done(); scan.line())
    if (int64_t number = 0; scan.literal("tfd:") && scan.number(number) && number <= INT32_MAX)
      visit(static_cast<int>(number));
}

}  // namespace tacho
