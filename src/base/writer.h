// Writer appends text and numbers to a buffer that is kept, so that a steady tick formats its rows without
// allocating. JsonWriter puts commas, quotes and escapes on top. Not thread-safe.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace tacho {

// What Writer::put_fixed() writes, read again.
double as_fixed(double value, int decimals);

class Writer {
 public:
  explicit Writer(size_t capacity = 4096) { grow(capacity); }
  Writer(Writer&& other) noexcept { *this = std::move(other); }
  Writer& operator=(Writer&& other) noexcept {
    text_.swap(other.text_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }

  void clear() { size_ = 0; }  // keeps the memory
  std::string_view view() const { return {text_.get(), size_}; }
  void put(char c) {
    *room_for(1) = c;
    ++size_;
  }
  void put(std::string_view text) {
    if (text.empty()) return;
    std::memcpy(room_for(text.size()), text.data(), text.size());
    size_ += text.size();
  }
  void put_spaces(size_t count) {
    std::memset(room_for(count), ' ', count);
    size_ += count;
  }
  void put_int(int64_t value);
  // Fixed notation with exactly `decimals` digits; NaN and infinities write nothing.
  void put_fixed(double value, int decimals);

 private:
  // Where the next bytes go. A row is many small pieces: none of them is worth a call.
  char* room_for(size_t bytes) {
    if (capacity_ - size_ < bytes) grow(bytes);
    return text_.get() + size_;
  }
  void grow(size_t bytes);

  std::unique_ptr<char[]> text_;  // NOLINT(modernize-avoid-c-arrays): not filled with zeros first
  size_t size_ = 0, capacity_ = 0;
};

// Nested objects and arrays; the caller closes what it opens.
class JsonWriter {
 public:
  explicit JsonWriter(Writer& out, bool pretty = false) : out_(out), pretty_(pretty) {}

  void inside_object() { depth_ = 1; }       // goes on in an object that somebody else opened
  JsonWriter& object();                      // {
  JsonWriter& end_object();                  // }
  JsonWriter& array();                       // [
  JsonWriter& end_array();                   // ]
  JsonWriter& key(std::string_view name);    // a plain word of ours: not escaped
  JsonWriter& value(std::string_view text);  // bytes that are not UTF-8 become U+FFFD
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(bool flag);
  JsonWriter& integer(int64_t number);
  JsonWriter& number(double number, int decimals);  // null when NaN or infinite
  JsonWriter& null();
  JsonWriter& raw(std::string_view text);  // a value that is JSON already

 private:
  void separate();
  void open(char bracket);
  void close(char bracket);
  void indent();

  Writer& out_;
  bool pretty_;
  bool first_ = true;  // nothing written yet at this depth
  bool after_key_ = false;
  int depth_ = 0;
};

}  // namespace tacho
