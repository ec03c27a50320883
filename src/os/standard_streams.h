// The places 0, 1 and 2 when the program was started with some of them closed: the next files it opened would take
// them, and what is meant for stderr would be written into one. First of all in main().
#pragma once

namespace tacho {

// Puts a descriptor into each empty place that behaves as a closed one (EBADF), and that no started program inherits.
void hold_standard_places();

}  // namespace tacho
