// CRC-32C (Castagnoli), the checksum of sealed segments; bytewise by a table, which is plenty for rows. Pure, thread-safe.
#pragma once
#include <cstdint>
#include <string_view>

namespace tacho {

// Continues from `crc`; 0 begins.
uint32_t crc32c(std::string_view bytes, uint32_t crc = 0);

}  // namespace tacho
