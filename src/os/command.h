// Runs a program to its end and takes what it printed, without a shell: for small programs of the user's that hand
// something out. It reads from /dev/null, has a session of its own and no descriptor but its own three, and is killed
// with us, when its time is over or when nobody wants it any more. What it leaves in the
// background (gpg-agent, say) becomes a child of ours rather than of whoever adopts orphans above us. Not for a
// program that reaps its children elsewhere. Not thread-safe.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace tacho {

struct CommandOutput {
  int status = 0;        // as from wait4
  std::string out, err;  // of err the first 4 KiB
};

// The first word is looked up as execvp does. An Error: not_available or denied (it cannot be started), io (not ended
// before deadline_ns on CLOCK_MONOTONIC), invalid (it printed more than 64 KiB) or gone (`cancelled`, asked every 50
// ms, said so).
Result<CommandOutput> run_command(const std::vector<std::string>& words, int64_t deadline_ns,
                                  const std::function<bool()>& cancelled = {});

// Words as a POSIX shell would make them of this text, of blanks, quotes and backslashes only: nothing is expanded. An
// Error when a quote is not closed.
Result<std::vector<std::string>> split_words(std::string_view text);

}  // namespace tacho
