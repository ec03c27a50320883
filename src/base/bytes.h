// Amounts of bytes as people write them. Pure, thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace tacho {

// "1073741824", "500M", "1.5 GiB", at least one byte; units are powers of 1024.
std::optional<int64_t> parse_bytes(std::string_view text);

}  // namespace tacho
