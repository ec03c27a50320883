// CRC-32C (Castagnoli): the checksum of sealed segments and of event files. By the processor's own instruction where it
// has one (SSE 4.2, ARMv8 CRC), else by eight tables. Pure, thread-safe.
#pragma once
#include <cstdint>
#include <string_view>

namespace tacho {

// Continues from `crc`; 0 begins.
uint32_t crc32c(std::string_view bytes, uint32_t crc = 0);
// The same by tables alone.
uint32_t crc32c_portable(std::string_view bytes, uint32_t crc = 0);

}  // namespace tacho
