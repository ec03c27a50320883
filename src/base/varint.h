// A number as protobuf has it: seven bits a byte, the lowest first. Pure.
#pragma once
#include <cstdint>
#include <string>

namespace tacho {

inline void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7f) | 0x80);
  out += static_cast<char>(value);
}

}  // namespace tacho
