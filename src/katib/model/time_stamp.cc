#include "katib/model/time_stamp.h"

#include <algorithm>
#include <cstring>

#include "base/short_text.h"
#include "base/text.h"
#include "base/time_text.h"

namespace tacho {
namespace {

constexpr int64_t kUsPerSec = 1'000'000;
constexpr int64_t kFirstUs = kFirstUtcSecond * kUsPerSec;          // 0000-01-01T00:00:00Z
constexpr int64_t kLastUs = (kLastUtcSecond + 1) * kUsPerSec - 1;  // 9999-12-31T23:59:59.999999Z

// Reads a text from left to right; after the first thing that is not there, nothing is.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  int number(size_t digits, int low, int high) {
    int value = 0;
    if (text_.size() < digits) return fail();
    for (size_t at = 0; at < digits; ++at) {
      if (!is_digit(text_[at])) return fail();
      value = value * 10 + (text_[at] - '0');
    }
    text_.remove_prefix(digits);
    return value < low || value > high ? fail() : value;
  }
  void literal(char c) {
    if (!next_is(c)) fail();
    else text_.remove_prefix(1);
  }
  // Any number of digits, six of which count.
  int64_t fraction_us() {
    int64_t us = 0;
    int64_t unit = 100'000;
    if (text_.empty() || !is_digit(text_.front())) fail();
    for (; !text_.empty() && is_digit(text_.front()); text_.remove_prefix(1), unit /= 10)
      us += unit * (text_.front() - '0');
    return us;
  }
  bool next_is(char c) const { return !text_.empty() && text_.front() == c; }
  bool digit_at(size_t at) const { return text_.size() > at && is_digit(text_[at]); }
  bool finished() const { return good_ && text_.empty(); }

 private:
  int fail() {
    good_ = false;
    text_ = {};
    return 1;
  }
  std::string_view text_;
  bool good_ = true;
};

struct Date {
  int year, month, day;
};

Date take_date(Scanner& in) {
  Date date{};
  date.year = in.number(4, 0, 9999);
  in.literal('-');
  date.month = in.number(2, 1, 12);
  in.literal('-');
  date.day = in.number(2, 1, 31);
  return date;
}

// Hours, minutes and seconds in µs.
int64_t take_clock(Scanner& in, size_t hour_digits) {
  int64_t seconds = in.number(hour_digits, 0, 23) * 3600;
  in.literal(':');
  seconds += in.number(2, 0, 59) * 60;
  in.literal(':');
  seconds += in.number(2, 0, 59);
  return seconds * kUsPerSec;
}

std::optional<int64_t> midnight_us(const Date& date) {
  const std::optional<int64_t> days = days_since_1970(date.year, date.month, date.day);
  if (!days) return std::nullopt;
  return *days * 86400 * kUsPerSec;
}

// 2026-11-15T09:30:00.250000Z, as most programs write it; nothing where a letter is not in its place, or out of its
// bounds: that is for the scanner to say.
std::optional<int64_t> usual_form_us(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:dd.ddddddZ";
  if (text.size() != kForm.size()) return std::nullopt;
  unsigned wrong = 0;
  for (size_t at = 0; at < kForm.size(); ++at) {
    const auto c = static_cast<unsigned char>(text[at]);
    wrong |= kForm[at] == 'd' ? static_cast<unsigned>(c - '0') > 9 : c != static_cast<unsigned char>(kForm[at]);
  }
  if (wrong != 0) return std::nullopt;
  const auto two = [&](size_t at) { return (text[at] - '0') * 10 + (text[at + 1] - '0'); };
  const int hour = two(11), minute = two(14), second = two(17);
  if (hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const auto midnight = midnight_us({two(0) * 100 + two(2), two(5), two(8)});
  if (!midnight) return std::nullopt;
  return *midnight + ((hour * 60 + minute) * 60 + second) * kUsPerSec + two(20) * 10'000 + two(22) * 100 + two(24);
}

}  // namespace

std::optional<int64_t> parse_time_stamp_us(std::string_view text) {
  if (const auto usual = usual_form_us(text)) return usual;
  Scanner in(text);
  const Date date = take_date(in);
  in.literal('T');
  int64_t us = take_clock(in, in.digit_at(1) ? 2 : 1);
  if (in.next_is('.') || in.next_is(',')) {
    in.literal(in.next_is('.') ? '.' : ',');
    us += in.fraction_us();
  }
  if (in.next_is('Z')) {
    in.literal('Z');
  } else {
    const int sign = in.next_is('-') ? -1 : 1;
    in.literal(sign < 0 ? '-' : '+');
    const int hours = in.number(2, 0, 24);  // Go's bounds, one beyond what a clock shows
    in.literal(':');
    us -= sign * (hours * 60 + in.number(2, 0, 60)) * 60 * kUsPerSec;
  }
  if (!in.finished()) return std::nullopt;
  const std::optional<int64_t> midnight = midnight_us(date);
  if (!midnight || *midnight + us < kFirstUs || *midnight + us > kLastUs) return std::nullopt;
  return *midnight + us;
}

std::optional<int64_t> TimeStampParser::parse_us(std::string_view text) {
  const bool has_fraction = text.size() > kSecond + 1 && text[kSecond - 1] == '.' && text.back() == 'Z';
  if (!has_fraction) return parse_time_stamp_us(text);
  constexpr std::array<int64_t, 7> kUnits{1'000'000, 100'000, 10'000, 1'000, 100, 10, 1};
  const std::string_view fraction = text.substr(kSecond, text.size() - kSecond - 1);
  const size_t count = std::min<size_t>(fraction.size(), 6);
  int64_t fraction_us = 0;
  bool digits = true;
  for (size_t at = 0; at < count; ++at) {
    digits = digits && is_digit(fraction[at]);
    fraction_us = 10 * fraction_us + (fraction[at] - '0');
  }
  for (const char c : fraction.substr(count)) digits = digits && is_digit(c);
  fraction_us *= kUnits[count];
  if (digits && same_text(text.substr(0, kSecond), {second_.data(), kSecond})) return second_us_ + fraction_us;
  const auto us = parse_time_stamp_us(text);
  if (us && digits) {
    std::memcpy(second_.data(), text.data(), kSecond);
    second_us_ = *us - fraction_us;
  }
  return us;
}

std::optional<int64_t> parse_sortable_us(std::string_view text) {
  if (text.size() != 26) return std::nullopt;
  Scanner first(text.substr(0, 10));
  const Date date = take_date(first);
  Scanner second(text.substr(11));
  int64_t us = take_clock(second, 2);
  second.literal('.');
  us += second.fraction_us();
  if (!first.finished() || !second.finished()) return std::nullopt;
  const std::optional<int64_t> midnight = midnight_us(date);
  if (!midnight) return std::nullopt;
  return *midnight + us;
}

TimeStampText::TimeStampText(int64_t time_us) {
  const int64_t since_first_us = std::clamp(time_us, kFirstUs, kLastUs) - kFirstUs;
  put_utc(text_, kFirstUtcSecond + since_first_us / kUsPerSec);
  text_[10] = ' ';
  text_[kUtcLength] = '.';
  put_digits(text_ + kUtcLength + 1, since_first_us % kUsPerSec, 6);
}

TimeStamp::TimeStamp(std::string_view text, std::optional<int64_t> time_us) : us_(time_us.value_or(kNoTime)) {
  if (text.size() > kShort) {
    long_ = std::make_shared<const std::string>(text);
    return;
  }
  size_ = static_cast<uint8_t>(text.size());
  std::copy(text.begin(), text.end(), short_.begin());
}

TimeStamp TimeStamp::at(int64_t time_us) {
  time_us = std::clamp(time_us, kFirstUs, kLastUs);
  return {TimeStampText(time_us).all_digits(), time_us};
}

std::string_view TimeStampText::all_digits() {
  text_[10] = 'T';
  text_[26] = 'Z';
  return {text_, 27};
}

std::string_view TimeStampText::wire() {
  text_[10] = 'T';
  size_t size = 26;
  while (text_[size - 1] == '0' && size > 20) --size;
  if (size == 20) size = 19;  // the point goes with the last digit
  text_[size] = 'Z';
  return {text_, size + 1};
}

}  // namespace tacho
