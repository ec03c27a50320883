// stdin, stdout and stderr before anything else is done in main().
#pragma once

namespace tacho {

// Where the program was started with some of the places 0, 1 and 2 closed, the next files it opened would take them,
// and what is meant for stderr would be written into one: each gets a descriptor that behaves as a closed one (EBADF),
// and that no started program inherits. Messages are in ASCII where the locale has nothing else.
void prepare_standard_streams();

}  // namespace tacho
