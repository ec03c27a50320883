// A recorder that goes on by itself: two forks and a session of its own, so that neither a Ctrl-C nor the end of
// whoever started it reaches it, and nobody has it for a child. It keeps no descriptor that it was given: 0, 1 and 2
// are /dev/null once it is settled. Until then what it says on stderr reaches the one that started it. For a program
// with one thread.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/fd.h"

namespace tacho {

inline constexpr char kDetachedName[] = "tacho-agent";  // of the process; 15 letters would fit

// As early as is known that it will be one: whoever looks at the tree must not see it under another name.
void name_as_detached();

struct Detached {
  bool goes_on = false;  // this is the process that goes on; the other one is the starter
  Fd news;               // the one line that tells of the start: written by one, read by the other
  Fd messages;           // the starter's: what the other says until it is settled
};
Result<Detached> detach();

// For the process that goes on: tells the starter, and is silent from now on. An error when nobody hears it any more:
// then nobody knows of this process, and it should end.
Status settle_detached(Detached& detached, std::string_view line);

// For the starter: passes messages on to stderr until the other is settled or has ended; the line, empty when there was
// none.
std::string wait_for_detached(const Detached& detached);

}  // namespace tacho
