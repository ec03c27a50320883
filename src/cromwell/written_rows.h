// Which rows stand in the NDJSON file for a load job already: an upload that is tried again appends no row twice.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tacho {

// The keys (row_key) of its rows that are among `wanted`, both sorted. Whatever is no row is passed over; none where
// there is no such file, or it is a pipe. In constant memory but for the keys.
std::vector<uint64_t> rows_in_file(const std::string& path, const std::vector<uint64_t>& wanted);

}  // namespace tacho
