// Writer appends text and numbers to a buffer that is kept, so that a steady tick formats its rows without
// allocating. JsonWriter puts commas, quotes and escapes on top. Not thread-safe.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tacho {

// What Writer::put_fixed() writes, read again.
double as_fixed(double value, int decimals);

class Writer {
 public:
  explicit Writer(size_t capacity = 4096) { text_.reserve(capacity); }
  void clear() { text_.clear(); }  // keeps the memory
  std::string_view view() const { return text_; }
  void put(char c) { text_ += c; }
  void put(std::string_view text) { text_ += text; }
  void put_spaces(size_t count) { text_.append(count, ' '); }
  void put_int(int64_t value);
  // Fixed notation with exactly `decimals` digits; NaN and infinities write nothing.
  void put_fixed(double value, int decimals);

 private:
  void put_scaled(int64_t value, int decimals);

  std::string text_;
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
