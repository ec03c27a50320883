// /proc/net/snmp: pairs of lines, names then numbers. Pure; no I/O, no allocation.
//   Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens … InSegs OutSegs RetransSegs InErrs OutRsts InCsumErrors
//   Tcp: 1 200 120000 -1 41 … 5021 4871 12 0 33 0
#pragma once
#include <cstdint>
#include <string_view>

namespace tacho {

// Segments that were sent again; −1: not in the file.
int64_t parse_retransmits(std::string_view text);

}  // namespace tacho
