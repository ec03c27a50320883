// tacho-query: SQL over the run store.
#pragma once
#include <span>
#include <string>

namespace tacho {

// The exit status: 0; 1 for an SQL error, or when it cannot be printed; 125 for bad usage; 130 after Ctrl-C.
int query_command(std::span<const std::string> words);

}  // namespace tacho
