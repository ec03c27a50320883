// Scan walks once over the text of a kernel file: numbers, words, lines. It never reads past the end, never allocates
// and never fails loudly: what is not there is told by the return value. A value type; not thread-safe.
#pragma once
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>

namespace tacho {

class Scan {
 public:
  explicit Scan(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  bool at_end() const { return at_ == end_; }
  // At the end of the line, or of the text.
  bool at_line_end() const { return at_ == end_ || *at_ == '\n'; }
  char peek() const { return at_ == end_ ? '\0' : *at_; }
  std::string_view rest() const { return {at_, static_cast<size_t>(end_ - at_)}; }

  void skip_blanks() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t')) ++at_;
  }

  // Takes c when it is the next character.
  bool take(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view word) {
    if (!rest().starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  // A decimal number after blanks; one beyond int64 becomes the largest. False, with nothing but blanks taken, when
  // the next word does not begin with a digit.
  bool number(int64_t& value) {
    skip_blanks();
    const char* const begin = at_;
    uint64_t sum = 0;
    while (at_ != end_) {
      const unsigned digit = static_cast<unsigned>(*at_) - '0';
      if (digit > 9) break;
      sum = sum * 10 + digit;
      ++at_;
    }
    if (at_ == begin) return false;
    // Eighteen digits always fit; only longer ones are looked at again.
    if (at_ - begin > 18) sum = saturated({begin, static_cast<size_t>(at_ - begin)});
    value = static_cast<int64_t>(sum);
    return true;
  }

  // Passes over `count` words of this line.
  void skip_words(int count) {
    for (; count > 0; --count) word();
  }

  // The next run of characters other than blanks and the line end; empty at the end of the line.
  std::string_view word() {
    skip_blanks();
    const char* const begin = at_;
    while (at_ != end_ && *at_ != ' ' && *at_ != '\t' && *at_ != '\n') ++at_;
    return {begin, static_cast<size_t>(at_ - begin)};
  }

  // What is left of this line, without its end; the scan then stands at the next line.
  std::string_view line() {
    const char* const begin = at_;
    if (at_ == end_) return {};
    const void* const found = std::memchr(at_, '\n', static_cast<size_t>(end_ - at_));
    if (found == nullptr) {
      at_ = end_;
      return {begin, static_cast<size_t>(end_ - begin)};
    }
    const char* const stop = static_cast<const char*>(found);
    at_ = stop + 1;
    return {begin, static_cast<size_t>(stop - begin)};
  }

 private:
  static uint64_t saturated(std::string_view digits) {
    constexpr uint64_t kLimit = std::numeric_limits<int64_t>::max();
    uint64_t sum = 0;
    for (const char c : digits) {
      const uint64_t digit = static_cast<uint64_t>(c - '0');
      if (sum > (kLimit - digit) / 10) return kLimit;
      sum = sum * 10 + digit;
    }
    return sum;
  }

  const char* at_;
  const char* end_;
};

}  // namespace tacho
