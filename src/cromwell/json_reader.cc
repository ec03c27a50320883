#include "cromwell/json_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/text.h"

namespace tacho {
namespace {

constexpr size_t kBufferBytes = 256 * 1024;
constexpr uint64_t kOnes = 0x0101010101010101ull;
constexpr uint64_t kHighs = 0x8080808080808080ull;

constexpr uint64_t zero_bytes(uint64_t word) { return (word - kOnes) & ~word & kHighs; }

// The first byte that ends the plain part of a string: a quote, a backslash or a control character. Eight at a time:
// most of a document is inside strings.
const char* plain_end(const char* at, const char* end) {
  static_assert(std::endian::native == std::endian::little);
  for (; end - at >= 8; at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, at, 8);
    const uint64_t special =
        zero_bytes(word ^ (kOnes * '"')) | zero_bytes(word ^ (kOnes * '\\')) | zero_bytes(word & (kOnes * 0xE0));
    if (special != 0) return at + std::countr_zero(special) / 8;
  }
  while (at < end && *at != '"' && *at != '\\' && static_cast<unsigned char>(*at) >= 0x20) ++at;
  return at;
}

// -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
bool is_number(std::string_view text) {
  size_t at = 0;
  const auto here = [&] { return at < text.size() ? text[at] : '\0'; };
  const auto digits = [&] {
    const size_t from = at;
    while (is_digit(here())) ++at;
    return at > from;
  };
  if (here() == '-') ++at;
  if (here() == '0') ++at;
  else if (!digits()) return false;
  if (here() == '.' && (++at, !digits())) return false;
  if (here() == 'e' || here() == 'E') {
    ++at;
    if (here() == '+' || here() == '-') ++at;
    if (!digits()) return false;
  }
  return at == text.size();
}

}  // namespace

JsonReader::JsonReader(Fill fill) : fill_(std::move(fill)), buffer_(new char[kBufferBytes]) {
  at_ = end_ = buffer_.get();
}

void JsonReader::restart() {
  at_ = end_ = buffer_.get();
  consumed_ = token_offset_ = 0;
  at_end_ = broken_ = cut_ = false;
  state_ = State::value;
  depth_ = 0;
  text_ = {};
  error_ = {};
}

bool JsonReader::refill() {
  if (at_end_ || broken_) return false;
  consumed_ += static_cast<uint64_t>(end_ - buffer_.get());
  at_ = end_ = buffer_.get();
  const Result<size_t> got = fill_(buffer_.get(), kBufferBytes);
  if (!got) {
    error_ = got.error();
    broken_ = true;
    return false;
  }
  end_ = at_ + *got;
  at_end_ = *got == 0;
  return !at_end_;
}

JsonReader::Token JsonReader::fail(std::string_view what) {
  if (!broken_)
    error_ = {Code::invalid, "broken JSON at byte " + std::to_string(offset()) + ": " + std::string(what), "", ""};
  broken_ = true;
  return Token::broken;
}

JsonReader::Token JsonReader::cut_off() { return fail("the document is cut off"); }

bool JsonReader::skip_blanks() {
  for (;;) {
    while (at_ < end_) {
      const char c = *at_;
      if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return true;
      ++at_;
    }
    if (!refill()) return false;
  }
}

JsonReader::Token JsonReader::open(bool object) {
  if (depth_ == kMaxDepth) return fail("nested deeper than 1024 levels");
  ++at_;
  const auto level = static_cast<unsigned>(depth_++);
  const uint64_t bit = uint64_t{1} << (level % 64);
  if (object) objects_[level / 64] |= bit;
  else objects_[level / 64] &= ~bit;
  state_ = object ? State::first_key : State::first_element;
  return object ? Token::object : Token::array;
}

JsonReader::Token JsonReader::close(char bracket) {
  const bool object = in_object();
  if (bracket != (object ? '}' : ']')) return fail("a bracket that was not opened");
  ++at_;
  --depth_;
  state_ = depth_ == 0 ? State::done : State::after;
  return object ? Token::end_object : Token::end_array;
}

JsonReader::Token JsonReader::next() {
  if (broken_) return Token::broken;
  if (!skip_blanks()) {
    if (broken_) return Token::broken;
    return state_ == State::done ? Token::end : cut_off();
  }
  token_offset_ = offset();
  switch (state_) {
    case State::done: return fail("text behind the end of the document");
    case State::first_key: return *at_ == '}' ? close('}') : read_key();
    case State::first_element: return *at_ == ']' ? close(']') : read_value();
    case State::value: return read_value();
    case State::after: break;
  }
  if (*at_ == '}' || *at_ == ']') return close(*at_);
  if (*at_ != ',') return fail("a comma or a closing bracket is missing");
  ++at_;
  if (!skip_blanks()) return cut_off();
  token_offset_ = offset();
  return in_object() ? read_key() : read_value();
}

JsonReader::Token JsonReader::read_key() {
  if (*at_ != '"') return fail("a member's name is missing");
  ++at_;
  if (!string()) return Token::broken;
  while (at_ < end_ && *at_ != ':' && (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r')) ++at_;
  if (at_ >= end_) {  // the name may lie in the buffer, which is filled anew now
    if (text_.data() != scratch_.data()) scratch_.assign(text_);
    text_ = scratch_;
    if (!skip_blanks()) return cut_off();
  }
  if (*at_ != ':') return fail("a colon is missing");
  ++at_;
  state_ = State::value;
  return Token::key;
}

JsonReader::Token JsonReader::read_value() {
  const char c = *at_;
  if (c == '{') return open(true);
  if (c == '[') return open(false);
  state_ = depth_ == 0 ? State::done : State::after;
  switch (c) {
    case '"': ++at_; return string() ? Token::string : Token::broken;
    case 't': return literal("true", Token::yes);
    case 'f': return literal("false", Token::no);
    case 'n': return literal("null", Token::null);
    default: break;
  }
  if (c == '-' || is_digit(c)) return number();
  return fail("a value is missing");
}

JsonReader::Token JsonReader::literal(std::string_view word, Token token) {
  for (const char c : word) {
    if (!more()) return cut_off();
    if (*at_ != c) return fail("an unknown word");
    ++at_;
  }
  return token;
}

JsonReader::Token JsonReader::number() {
  const auto belongs = [](char c) { return is_digit(c) || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E'; };
  const char* from = at_;
  while (at_ < end_ && belongs(*at_)) ++at_;
  if (at_ < end_) {
    text_ = {from, static_cast<size_t>(at_ - from)};
  } else {
    scratch_.assign(from, at_);
    while (more() && belongs(*at_) && scratch_.size() < kTextLimit) scratch_ += *at_++;
    if (broken_) return Token::broken;
    text_ = scratch_;
  }
  cut_ = false;
  return is_number(text_) ? Token::number : fail("no number");
}

bool JsonReader::string() {
  cut_ = false;
  const char* const from = at_;
  at_ = plain_end(at_, end_);
  if (at_ < end_ && *at_ == '"' && static_cast<size_t>(at_ - from) <= kTextLimit) {
    text_ = {from, static_cast<size_t>(at_ - from)};
    ++at_;
    return true;
  }
  return slow_string(from);
}

void JsonReader::append(const char* from, const char* to) {
  const auto size = static_cast<size_t>(to - from);
  const size_t room = kTextLimit - std::min(kTextLimit, scratch_.size());
  if (size > room) cut_ = true;
  scratch_.append(from, std::min(size, room));
}

// A string with an escape in it, at the edge of the buffer, or a very long one.
bool JsonReader::slow_string(const char* from) {
  scratch_.clear();
  append(from, at_);
  for (;;) {
    if (!more()) return cut_off(), false;
    if (*at_ == '"') break;
    if (*at_ == '\\') {
      ++at_;
      if (!escape()) return false;
    } else if (static_cast<unsigned char>(*at_) < 0x20) {
      return fail("a control character inside a string"), false;
    }
    const char* const piece = at_;
    at_ = plain_end(at_, end_);
    append(piece, at_);
  }
  ++at_;
  text_ = scratch_;
  return true;
}

bool JsonReader::hex4(uint32_t& code) {
  code = 0;
  for (int i = 0; i < 4; ++i) {
    if (!more()) return cut_off(), false;
    const char c = *at_;
    uint32_t digit = 0;
    if (is_digit(c)) digit = static_cast<uint32_t>(c - '0');
    else if (c >= 'a' && c <= 'f') digit = static_cast<uint32_t>(c - 'a' + 10);
    else if (c >= 'A' && c <= 'F') digit = static_cast<uint32_t>(c - 'A' + 10);
    else return fail("four hexadecimal digits must follow \\u"), false;
    code = code * 16 + digit;
    ++at_;
  }
  return true;
}

bool JsonReader::escape() {
  constexpr std::string_view kNames = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
  if (!more()) return cut_off(), false;
  const char c = *at_;
  if (const size_t which = kNames.find(c); which != std::string_view::npos) {
    ++at_;
    append(&kMeanings[which], &kMeanings[which] + 1);
    return true;
  }
  if (c != 'u') return fail("an unknown escape"), false;
  ++at_;
  uint32_t code = 0;
  if (!hex4(code)) return false;
  // A pair of surrogates is one character; half of one is none.
  while (code >= 0xD800 && code < 0xDC00) {
    if (!more()) return cut_off(), false;
    if (*at_ != '\\') break;
    ++at_;
    if (!more()) return cut_off(), false;
    if (*at_ != 'u') return append_code(0xFFFD), escape();
    ++at_;
    uint32_t low = 0;
    if (!hex4(low)) return false;
    if (low >= 0xDC00 && low < 0xE000) {
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else {
      append_code(0xFFFD);
      code = low;
    }
  }
  append_code(code >= 0xD800 && code < 0xE000 ? 0xFFFD : code);
  return true;
}

void JsonReader::append_code(uint32_t code) {
  char bytes[4];
  int size = 0;
  const auto put = [&](uint32_t byte) { bytes[size++] = static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6), put(0x80 | (code & 63));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12), put(0x80 | (code >> 6 & 63)), put(0x80 | (code & 63));
  } else {
    put(0xF0 | code >> 18), put(0x80 | (code >> 12 & 63)), put(0x80 | (code >> 6 & 63)), put(0x80 | (code & 63));
  }
  append(bytes, bytes + size);
}

bool JsonReader::skip(Token first) {
  if (first == Token::object || first == Token::array) {
    const int outside = depth_ - 1;
    while (depth_ > outside)
      if (next() == Token::broken) return false;
    return true;
  }
  return first != Token::broken;
}

}  // namespace tacho
