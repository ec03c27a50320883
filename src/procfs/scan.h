// Scanner walks over the bytes of a kernel file: numbers, words, lines. No allocation; never reads past its end.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/text.h"

namespace tacho {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  bool done() const { return at_ == end_; }
  char peek() const { return at_ == end_ ? '\0' : *at_; }
  void skip_blanks() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t')) ++at_;
  }
  // The next unsigned number, blanks before it skipped; false (and nothing consumed but blanks) when there is none.
  // A number beyond 64 bits is cut at its largest value, as a counter that makes no sense must not wrap.
  bool number(uint64_t& value) {
    skip_blanks();
    const char* at = at_;  // which need not be written back at each digit
    uint64_t result = 0;
    // Nineteen digits always fit: only the ones behind them need the check.
    const char* const safe_end = at_ + std::min<ptrdiff_t>(end_ - at_, 19);
    for (; at != safe_end && is_digit(*at); ++at) result = result * 10 + digit_of(*at);
    if (at == at_) return false;
    for (; at != end_ && is_digit(*at); ++at)
      result = result > (UINT64_MAX - digit_of(*at)) / 10 ? UINT64_MAX : result * 10 + digit_of(*at);
    at_ = at;
    value = result;
    return true;
  }
  // The same into a signed counter, which ends at INT64_MAX.
  bool number(int64_t& value) {
    uint64_t wide = 0;
    if (!number(wide)) return false;
    value = wide > INT64_MAX ? INT64_MAX : static_cast<int64_t>(wide);
    return true;
  }
  // A number that may carry a minus sign.
  bool signed_number(int64_t& value) {
    skip_blanks();
    const bool negative = at_ != end_ && *at_ == '-';
    if (negative) ++at_;
    if (!number(value)) return false;
    if (negative) value = -value;
    return true;
  }
  // The next run of non-blank bytes on this line.
  std::string_view word() {
    skip_blanks();
    const char* const start = at_;
    const char* at = at_;
    while (at != end_ && !ends_word(*at)) ++at;
    at_ = at;
    return {start, static_cast<size_t>(at - start)};
  }
  bool skip_word() { return !word().empty(); }
  bool skip_words(int count) {
    for (; count > 0 && skip_word(); --count) {}
    return count <= 0;
  }
  // Consumes text if it stands here.
  bool literal(std::string_view text) {
    if (static_cast<size_t>(end_ - at_) < text.size() || std::string_view(at_, text.size()) != text) return false;
    at_ += text.size();
    return true;
  }
  // The rest of this line without its end; the scanner stands on the next line.
  std::string_view line() {
    const char* const start = at_;
    const size_t left = static_cast<size_t>(end_ - at_);
    const auto* found = left > 0 ? static_cast<const char*>(std::memchr(at_, '\n', left)) : nullptr;
    const char* const stop = found != nullptr ? found : end_;
    at_ = found != nullptr ? found + 1 : end_;
    return {start, static_cast<size_t>(stop - start)};
  }
  std::string_view rest() const { return {at_, static_cast<size_t>(end_ - at_)}; }

 private:
  // Nearly every byte is told by the first comparison.
  static bool ends_word(char c) { return static_cast<unsigned char>(c) <= ' ' && (c == ' ' || c == '\t' || c == '\n'); }
  static uint64_t digit_of(char c) { return static_cast<uint64_t>(c - '0'); }

  const char* at_;
  const char* end_;
};

}  // namespace tacho
