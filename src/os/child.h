// What a child does between fork and exec, and what is made ready for it before the fork. The job itself is started in
// os/process. Not thread-safe.
#pragma once
#include <sys/types.h>

#include <span>
#include <string>
#include <vector>

#include "os/fd.h"

namespace tacho {

// Before the fork.
// A copy above the places 0 … n, so that putting one in its place closes no other.
Fd high_copy(int fd);
// As exec wants them: pointers into words, and a null pointer at the end.
std::vector<char*> exec_words(std::span<const std::string> words);

// In the child; these make system calls only.
// The kernel kills this process when the thread that forked it ends; `parent` is its process.
void end_with_parent(pid_t parent);
// No signal is blocked, each descriptor stands in its place (0, 1, 2, …), and exec closes all others.
void settle_before_exec(std::span<const int> descriptors);
// exec has failed: tells errno through the descriptor and ends.
[[noreturn]] void exec_failed(int error_fd);

}  // namespace tacho
