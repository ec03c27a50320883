// Giving back memory that a mostly idle process does not need now. Thread-safe.
#pragma once

namespace tacho {

// Lets go of the pages of this program's own code and constants, and on request of its libraries' (MADV_DONTNEED on the
// segments that are never written to: clean pages of the file, which come back from the page cache when they are used
// again), and of free heap pages. For a large program that works for a moment and sleeps for long.
void give_back_memory(bool libraries_too = false);

}  // namespace tacho
