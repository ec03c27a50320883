// The fields of a protobuf message, one after the other, without a schema and without a copy. Pure; no allocation.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tacho {

struct WireField {
  enum class Type { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };
  uint32_t number = 0;
  Type type = Type::varint;
  uint64_t value = 0;  // of all but bytes
  std::string_view bytes;

  double as_double() const { return std::bit_cast<double>(value); }
  float as_float() const { return std::bit_cast<float>(static_cast<uint32_t>(value)); }
};

class WireReader {
 public:
  explicit WireReader(std::string_view message) : at_(message.data()), end_(at_ + message.size()) {}

  // False at the end, and when the message cannot be decoded: then broken() tells.
  bool next(WireField& field) {
    uint64_t key = 0;
    if (at_ == end_) return false;
    if (!varint(key)) return fail();
    field.number = static_cast<uint32_t>(key >> 3);
    field.type = static_cast<WireField::Type>(key & 7);
    if (field.number == 0 || key >> 32 != 0) return fail();
    switch (field.type) {
      case WireField::Type::varint: return varint(field.value) || fail();
      case WireField::Type::fixed64: return fixed(field.value, 8) || fail();
      case WireField::Type::fixed32: return fixed(field.value, 4) || fail();
      case WireField::Type::bytes: break;
      default: return fail();
    }
    return take_bytes(field.bytes);
  }
  bool broken() const { return broken_; }
  std::string_view rest() const { return {at_, static_cast<size_t>(end_ - at_)}; }

  // For the usual layout of a message: passes over a key of one byte if it is the next, and then over its value.
  bool take_key(char key) {
    if (at_ == end_ || *at_ != key) return false;
    ++at_;
    return true;
  }
  bool take_bytes(std::string_view& bytes) {
    uint64_t size = 0;
    if (!varint(size) || size > static_cast<uint64_t>(end_ - at_)) return fail();
    bytes = {at_, static_cast<size_t>(size)};
    at_ += size;
    return true;
  }
  // One number of a packed field.
  bool varint(uint64_t& value) {
    if (at_ < end_ && static_cast<unsigned char>(*at_) < 0x80) {
      value = static_cast<unsigned char>(*at_++);
      return true;
    }
    value = 0;
    for (unsigned shift = 0; shift < 64 && at_ < end_; shift += 7) {
      const auto byte = static_cast<unsigned char>(*at_++);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool fixed(uint64_t& value, size_t size) {
    if (static_cast<size_t>(end_ - at_) < size) return false;
    value = 0;
    std::memcpy(&value, at_, size);
    at_ += size;
    return true;
  }

 private:
  bool fail() {
    broken_ = true;
    return false;
  }

  const char* at_;
  const char* end_;
  bool broken_ = false;
};

}  // namespace tacho
