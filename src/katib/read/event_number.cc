#include "katib/read/event_number.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "katib/read/wire.h"

namespace tacho {
namespace {

// Lays out "d.ddde±xx" the other way.
void put_layout(std::string& to, std::string_view scientific) {
  if (scientific.starts_with('-')) {
    to += '-';
    scientific.remove_prefix(1);
  }
  const size_t e = scientific.find('e');
  std::array<char, 32> digits;
  size_t count = 0;
  for (const char c : scientific.substr(0, e))
    if (c != '.') digits[count++] = c;
  int exponent = 0;
  const char* from = scientific.data() + e + 1;
  if (*from == '+') ++from;
  std::from_chars(from, scientific.data() + scientific.size(), exponent);
  const std::string_view all(digits.data(), count);
  if (exponent < -4 || exponent >= 16) {
    to += all[0];
    if (count > 1) {
      to += '.';
      to += all.substr(1);
    }
    to += scientific.substr(e);  // to_chars and printf write two digits at least
  } else if (exponent < 0) {
    to += "0.";
    to.append(static_cast<size_t>(-exponent - 1), '0');
    to += all;
  } else {
    const auto whole = static_cast<size_t>(exponent) + 1;
    to += all.substr(0, whole);
    if (whole > count) to.append(whole - count, '0');
    to += '.';
    to += whole < count ? all.substr(whole) : std::string_view("0");
  }
}

template <class Float>
void put_float(std::string& to, Float value) {
  if (!std::isfinite(value)) {
    to += std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
    return;
  }
  std::array<char, 64> text;
  const auto done = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::scientific);
  put_layout(to, {text.data(), static_cast<size_t>(done.ptr - text.data())});
}

float half_value(uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  const auto fraction = static_cast<float>(bits & 0x3ff);
  const float size = exponent == 0    ? std::ldexp(fraction, -24)
                     : exponent == 31 ? (fraction == 0 ? HUGE_VALF : std::nanf(""))
                                      : std::ldexp(fraction + 1024, exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

// Does `text` read back as this half? It does between the midpoints to its neighbours.
bool reads_as_half(double value, uint16_t bits) {
  const auto magnitude = static_cast<uint16_t>(bits & 0x7fff);
  const double self = half_value(magnitude);
  const double below = magnitude == 0 ? -half_value(1) : half_value(static_cast<uint16_t>(magnitude - 1));
  const double above = magnitude == 0x7bff ? 65536 : half_value(static_cast<uint16_t>(magnitude + 1));
  const double low = (below + self) / 2, high = (self + above) / 2;
  const bool even = (magnitude & 1) == 0;
  return even ? value >= low && value <= high : value > low && value < high;
}

// DT_… of tensorflow/core/framework/types.proto
enum DataType : uint64_t {
  kFloat = 1,
  kDouble = 2,
  kInt32 = 3,
  kUint8 = 4,
  kInt16 = 5,
  kInt8 = 6,
  kInt64 = 9,
  kBfloat16 = 14,
  kUint16 = 17,
  kHalf = 19,
  kUint32 = 22,
  kUint64 = 23,
};

struct ElementType {
  size_t size;     // bytes in tensor_content
  uint32_t field;  // number of the field of values
};

std::optional<ElementType> element_type(uint64_t type) {
  switch (type) {
    case kFloat: return ElementType{4, 5};
    case kDouble: return ElementType{8, 6};
    case kInt32: return ElementType{4, 7};
    case kUint8:
    case kInt8: return ElementType{1, 7};
    case kInt16:
    case kUint16: return ElementType{2, 7};
    case kInt64: return ElementType{8, 10};
    case kBfloat16:
    case kHalf: return ElementType{2, 13};
    case kUint32: return ElementType{4, 16};
    case kUint64: return ElementType{8, 17};
    default: return std::nullopt;
  }
}

void put_element(std::string& to, uint64_t type, uint64_t bits) {
  switch (type) {
    case kFloat: return put_number(to, std::bit_cast<float>(static_cast<uint32_t>(bits)));
    case kDouble: return put_number(to, std::bit_cast<double>(bits));
    case kHalf: return put_half(to, static_cast<uint16_t>(bits));
    case kBfloat16: return put_number(to, std::bit_cast<float>(static_cast<uint32_t>(bits & 0xffff) << 16));
    case kInt8: to += std::to_string(static_cast<int8_t>(bits)); return;
    case kInt16: to += std::to_string(static_cast<int16_t>(bits)); return;
    case kInt32: to += std::to_string(static_cast<int32_t>(bits)); return;
    case kInt64: to += std::to_string(static_cast<int64_t>(bits)); return;
    case kUint8: to += std::to_string(static_cast<uint8_t>(bits)); return;
    case kUint16: to += std::to_string(static_cast<uint16_t>(bits)); return;
    case kUint32: to += std::to_string(static_cast<uint32_t>(bits)); return;
    default: to += std::to_string(bits); return;
  }
}

using Type = WireField::Type;

// TensorShapeProto: 2 dim {1 size} · 3 unknown_rank
bool is_one_element(std::string_view shape) {
  WireReader fields(shape);
  for (WireField field; fields.next(field);) {
    if (field.number == 3 && field.type == Type::varint && field.value != 0) return false;
    if (field.number != 2 || field.type != Type::bytes) continue;
    uint64_t size = 0;
    WireReader dimension(field.bytes);
    for (WireField part; dimension.next(part);)
      if (part.number == 1 && part.type == Type::varint) size = part.value;
    if (size != 1) return false;
  }
  return !fields.broken();
}

struct Tensor {
  uint64_t type = 0;
  bool one = true;
  std::string_view content;
};

// TensorProto: 1 dtype · 2 shape · 4 tensor_content
std::optional<Tensor> parse_tensor(std::string_view bytes) {
  Tensor tensor;
  WireReader fields(bytes);
  for (WireField field; fields.next(field);) {
    if (field.number == 1 && field.type == Type::varint) tensor.type = field.value;
    if (field.number == 2 && field.type == Type::bytes) tensor.one = is_one_element(field.bytes);
    if (field.number == 4 && field.type == Type::bytes) tensor.content = field.bytes;
  }
  if (fields.broken()) return std::nullopt;
  return tensor;
}

// The first value of a repeated field, packed or not; 0 when there is none, which is how a writer may store a zero.
std::optional<uint64_t> first_element(std::string_view tensor, uint64_t type, uint32_t number) {
  const size_t fixed_size = type == kFloat ? 4 : type == kDouble ? 8 : 0;
  WireReader fields(tensor);
  for (WireField field; fields.next(field);) {
    if (field.number != number) continue;
    if (field.type != Type::bytes) return field.value;
    if (field.bytes.empty()) continue;
    uint64_t value = 0;
    WireReader packed(field.bytes);
    if (fixed_size != 0 ? packed.fixed(value, fixed_size) : packed.varint(value)) return value;
    return std::nullopt;
  }
  return 0;
}

}  // namespace

void put_number(std::string& to, double value) { put_float(to, value); }
void put_number(std::string& to, float value) { put_float(to, value); }

void put_half(std::string& to, uint16_t bits) {
  const float value = half_value(bits);
  if (!std::isfinite(value)) return put_float(to, value);
  std::array<char, 32> text;
  for (int digits = 0; digits <= 5; ++digits) {
    const int size = std::snprintf(text.data(), text.size(), "%.*e", digits, static_cast<double>(value));
    if (!reads_as_half(std::abs(std::strtod(text.data(), nullptr)), bits) && digits < 5) continue;
    return put_layout(to, {text.data(), static_cast<size_t>(size)});
  }
}

bool put_tensor_scalar(std::string& to, std::string_view bytes) {
  const auto tensor = parse_tensor(bytes);
  const auto element = tensor ? element_type(tensor->type) : std::nullopt;
  if (!element || !tensor->one) return false;
  std::optional<uint64_t> bits;
  if (tensor->content.empty()) {
    bits = first_element(bytes, tensor->type, element->field);
  } else if (tensor->content.size() == element->size) {
    bits = 0;
    std::memcpy(&*bits, tensor->content.data(), element->size);
  }
  if (!bits) return false;
  put_element(to, tensor->type, *bits);
  return true;
}

}  // namespace tacho
