// /proc/PID/task/TID/syscall and wchan, the fdinfo of an epoll, /proc/net/snmp: nothing is read past the end, and every
// state that comes out is one.
#include "procfs/thread_files.h"
#include "probe/tree/wait_rules.h"
#include "procfs/net_snmp.h"
#include "target.h"

void fuzz_one(std::string_view text) {
  tacho::ThreadSyscall call;
  if (tacho::parse_thread_syscall(text, call)) {
    for (const auto table :
         {tacho::CallTable::x86_64, tacho::CallTable::i386, tacho::CallTable::generic, tacho::CallTable::arm})
      require(static_cast<size_t>(tacho::meaning_of(call, table).state) < tacho::kWaitStates);
  }
  const std::string_view name = tacho::plain_wchan(text);
  require(name.empty() || is_inside(name, text));
  require(static_cast<size_t>(tacho::state_by_wchan(name, 'S', true)) < tacho::kWaitStates);
  tacho::parse_epoll_targets(text, [](int number) { require(number >= 0); });
  require(tacho::parse_retransmits(text) >= -1);
  tacho::fd_kind_of_link(text);
}
