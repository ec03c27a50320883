// A pull parser for JSON of any length in constant memory: text comes in pieces from a function, tokens go out one by
// one. RFC 8259 to the letter but for three things that must not end an upload: bytes that are no UTF-8 and lone
// surrogates pass (whoever writes them replaces them), members may repeat, and a string is held up to kTextLimit only
// (cut() tells). Not thread-safe.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tacho {

class JsonReader {
 public:
  // Far deeper than anything we enter (a sub-workflow is four levels): a value nested deeper than its reader goes can
  // be skipped, and the rest of the document counts.
  static constexpr int kMaxDepth = 1024;
  static constexpr size_t kTextLimit = 64 * 1024;

  enum class Token : uint8_t { object, end_object, array, end_array, key, string, number, yes, no, null, end, broken };
  // Puts the next bytes at `to`, at most `room`; 0 at the end.
  using Fill = std::function<Result<size_t>(char* to, size_t room)>;

  explicit JsonReader(Fill fill);
  // From now on another document, which begins with what the function gives next; keeps the memory.
  void restart();

  Token next();
  // The text of a key or string, without escapes, or of a number as it is written. Good until the next call.
  std::string_view text() const { return text_; }
  bool cut() const { return cut_; }
  // Reads the value whose first token was `first` to its end; false when the document is broken.
  bool skip(Token first);
  // Bytes of the document before the last token's beginning, and before the next one.
  uint64_t token_offset() const { return token_offset_; }
  uint64_t offset() const { return consumed_ + static_cast<uint64_t>(at_ - buffer_.get()); }
  int depth() const { return depth_; }
  // After Token::broken: what is wrong, and at which byte.
  const Error& error() const { return error_; }

 private:
  enum class State : uint8_t { value, first_key, first_element, after, done };

  bool refill();  // false at the end or on an error
  bool more() { return at_ < end_ || refill(); }
  bool skip_blanks();  // to the next byte; false at the end
  Token fail(std::string_view what);
  Token cut_off();
  // Whether the innermost open bracket is an object's.
  bool in_object() const {
    const auto level = static_cast<unsigned>(depth_ - 1);
    return (objects_[level / 64] >> (level % 64) & 1) != 0;
  }
  Token open(bool object);
  Token close(char bracket);
  Token read_key();
  Token read_value();
  Token literal(std::string_view word, Token token);
  Token number();
  bool string();  // behind the opening quote
  bool slow_string(const char* from);
  bool escape();
  bool hex4(uint32_t& code);
  void append(const char* from, const char* to);
  void append_code(uint32_t code);

  Fill fill_;
  std::unique_ptr<char[]> buffer_;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  uint64_t consumed_ = 0;  // bytes of the document before the buffer
  bool at_end_ = false;
  State state_ = State::value;
  std::array<uint64_t, kMaxDepth / 64> objects_{};  // one bit a level: an object, or an array
  int depth_ = 0;
  uint64_t token_offset_ = 0;
  std::string_view text_;
  std::string scratch_;
  bool cut_ = false;
  bool broken_ = false;
  Error error_;
};

}  // namespace tacho
