#include "base/writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/fixed_text.h"
#include "base/text.h"

namespace tacho {

namespace {

constexpr size_t kLongestInteger = 24;

// How many bytes at its start stand for themselves between the quotes of JSON.
size_t plain_length(std::string_view text) {
  const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; };
  return static_cast<size_t>(std::find_if_not(text.begin(), text.end(), is_plain) - text.begin());
}

}  // namespace

void Writer::grow(size_t bytes) {
  const size_t capacity = std::max(size_ + bytes, 2 * capacity_);
  std::unique_ptr<char[]> larger(new char[capacity]);  // NOLINT(modernize-avoid-c-arrays)
  if (size_ > 0) std::memcpy(larger.get(), text_.get(), size_);
  text_ = std::move(larger);
  capacity_ = capacity;
}

void Writer::put_int(int64_t value) {
  char* const at = room_for(kLongestInteger);
  size_ += static_cast<size_t>(std::to_chars(at, at + kLongestInteger, value).ptr - at);
}

double as_fixed(double value, int decimals) {
  if (!std::isfinite(value)) return value;
  std::array<char, kLongestFixed> room;
  std::from_chars(room.data(), write_fixed(room.data(), value, decimals), value);
  return value;
}

void Writer::put_fixed(double value, int decimals) {
  char* const at = room_for(kLongestFixed);
  size_ += static_cast<size_t>(write_fixed(at, value, decimals) - at);
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
  for (size_t i = 0;; ++i) {
    const size_t plain = plain_length(text.substr(i));
    out_.put(text.substr(i, plain));
    i += plain;
    if (i == text.size()) break;
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
