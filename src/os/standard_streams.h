// stdin, stdout and stderr of this program.
#pragma once
#include <string_view>

namespace tacho {

// First of all in main(). Where the program was started with some of the places 0, 1 and 2 closed, the next files that
// it opened would take them, and what is meant for stderr would be written into one: each gets a descriptor that
// behaves as a closed one (EBADF), and that no started program inherits. Messages are in ASCII where the locale has
// nothing else.
void prepare_standard_streams();

// Writes all of text to stdout. The exit status: 0, or 1 with a message when it cannot be written.
int print(std::string_view text);

}  // namespace tacho
