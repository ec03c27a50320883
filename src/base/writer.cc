#include "base/writer.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/text.h"

namespace tacho {

void Writer::put_int(int64_t value) {
  std::array<char, 24> digits;
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc{}) text_.append(digits.data(), end);
}

namespace {

constexpr std::array<double, 7> kPowers{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};
using Digits = std::array<char, 400>;

// Scaled to a whole number, as nearly every cell can be: several times cheaper than the general conversion.
bool can_be_scaled(double value, int decimals) {
  return decimals >= 0 && decimals < static_cast<int>(kPowers.size()) && std::fabs(value) < 1e9;
}

std::string_view fixed_digits(double value, int decimals, Digits& room) {
  const auto [end, error] =
      std::to_chars(room.data(), room.data() + room.size(), value, std::chars_format::fixed, decimals);
  return {room.data(), error == std::errc{} ? static_cast<size_t>(end - room.data()) : 0};
}

}  // namespace

double as_fixed(double value, int decimals) {
  if (!std::isfinite(value)) return value;
  if (can_be_scaled(value, decimals)) {
    const double power = kPowers[static_cast<size_t>(decimals)];
    return static_cast<double>(std::llround(value * power)) / power;
  }
  Digits room;
  const std::string_view digits = fixed_digits(value, decimals, room);
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

void Writer::put_fixed(double value, int decimals) {
  if (!std::isfinite(value)) return;
  if (can_be_scaled(value, decimals))
    return put_scaled(std::llround(value * kPowers[static_cast<size_t>(decimals)]), decimals);
  Digits room;
  text_.append(fixed_digits(value, decimals, room));
}

// 12345 with 3 decimals is 12.345.
void Writer::put_scaled(int64_t value, int decimals) {
  if (value == 0)  // as most cells of most rows
    return put(std::string_view("0.000000").substr(0, decimals > 0 ? static_cast<size_t>(decimals) + 2 : 1));
  std::array<char, 32> digits;
  char* at = digits.data() + digits.size();
  uint64_t rest = value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  for (int i = 0; rest != 0 || i <= decimals; ++i) {
    if (i == decimals && decimals > 0) *--at = '.';
    *--at = static_cast<char>('0' + rest % 10);
    rest /= 10;
  }
  if (value < 0) *--at = '-';
  text_.append(at, digits.data() + digits.size());
}

void JsonWriter::indent() {
  if (!pretty_) return;
  out_.put('\n');
  for (int i = 0; i < depth_; ++i) out_.put("  ");
}

void JsonWriter::separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (!first_) out_.put(',');
  if (depth_ > 0) indent();
  first_ = false;
}

void JsonWriter::open(char bracket) {
  separate();
  out_.put(bracket);
  ++depth_;
  first_ = true;
}

void JsonWriter::close(char bracket) {
  --depth_;
  if (!first_) indent();
  out_.put(bracket);
  first_ = false;
}

JsonWriter& JsonWriter::object() { return open('{'), *this; }
JsonWriter& JsonWriter::end_object() { return close('}'), *this; }
JsonWriter& JsonWriter::array() { return open('['), *this; }
JsonWriter& JsonWriter::end_array() { return close(']'), *this; }

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  out_.put('"');
  out_.put(name);
  out_.put(pretty_ ? "\": " : "\":");
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  out_.put('"');
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out_.put('\\');
      out_.put(c);
    } else if (c == '\n') {
      out_.put("\\n");
    } else if (c == '\t') {
      out_.put("\\t");
    } else if (byte < 0x20 || byte == 0x7F) {
      constexpr std::string_view kHex = "0123456789abcdef";
      out_.put("\\u00");
      out_.put(kHex[byte >> 4]);
      out_.put(kHex[byte & 15]);
    } else if (byte < 0x80) {
      out_.put(c);
    } else if (const size_t length = utf8_length(text.substr(i)); length > 0) {
      out_.put(text.substr(i, length));
      i += length - 1;
    } else {
      out_.put("\xEF\xBF\xBD");
    }
  }
  out_.put('"');
  return *this;
}

JsonWriter& JsonWriter::value(bool flag) {
  separate();
  out_.put(flag ? "true" : "false");
  return *this;
}

JsonWriter& JsonWriter::integer(int64_t number) {
  separate();
  out_.put_int(number);
  return *this;
}

JsonWriter& JsonWriter::number(double number, int decimals) {
  if (!std::isfinite(number)) return null();
  separate();
  out_.put_fixed(number, decimals);
  return *this;
}

JsonWriter& JsonWriter::raw(std::string_view text) {
  separate();
  out_.put(text);
  return *this;
}

JsonWriter& JsonWriter::null() {
  separate();
  out_.put("null");
  return *this;
}

}  // namespace tacho
