// Points in time as web services write them: 2026-11-15T09:30:00Z, with a fraction, with +01:00 or +0100 for Z, with a blank
// for T, in any mixture. Pure, thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace tacho {

// ns since 1970; without a zone it is UTC. Digits behind the nanosecond are cut off.
std::optional<int64_t> parse_iso_date_ns(std::string_view text);

}  // namespace tacho
