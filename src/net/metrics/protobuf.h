// Writes the wire format of protocol buffers: the few kinds of fields that remote write and OTLP have. Appends to a
// string; a message inside another is written first and then put in as bytes. Pure; not thread-safe.
#pragma once
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/varint.h"

namespace tacho {

class ProtoWriter {
 public:
  explicit ProtoWriter(std::string& out) : out_(out) {}

  // int64, uint64, bool, enum; a 0 is written too.
  void integer(int field, int64_t value) {
    tag(field, 0);
    varint(static_cast<uint64_t>(value));
  }
  void fixed64(int field, uint64_t value) {
    tag(field, 1);
    for (int i = 0; i < 8; ++i) out_ += static_cast<char>(value >> (8 * i) & 0xff);
  }
  void number(int field, double value) { fixed64(field, std::bit_cast<uint64_t>(value)); }
  // A string, or a message.
  void bytes(int field, std::string_view value) {
    tag(field, 2);
    varint(value.size());
    out_ += value;
  }

 private:
  void tag(int field, unsigned kind) { varint(static_cast<uint64_t>(field) << 3 | kind); }
  void varint(uint64_t value) { put_varint(out_, value); }

  std::string& out_;
};

}  // namespace tacho
