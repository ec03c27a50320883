// The whole rows of a segment that a kill, a power cut or a bad disk damaged: rows before and after the damage are
// kept, and nothing else. Pure, thread-safe.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tacho {

// Leaves in a CSV its header and every complete line with as many fields; returns the number of those rows. Without a
// header nothing is kept.
int64_t keep_whole_csv(std::string& text);
// The same of a segment with this ending (spool/layout.h): CSV or records.
int64_t keep_whole_rows(std::string_view ending, std::string& text);

}  // namespace tacho
