#include "report/store/csv_fields.h"

#include <array>
#include <cstdint>
#include <limits>

#include "base/text.h"

namespace tacho {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
// Powers of ten that a double holds exactly; so does it every whole number up to 2^53, and their quotient is rounded
// once, as it would be by the general way.
constexpr std::array<double, 16> kTens{1,   1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                       1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

// The end of the field that begins at `at`: its comma, or `end`. Null when a quote is not closed.
const char* field_end(const char* at, const char* end) {
  if (at != end && *at == '"') {
    for (++at;; ++at) {
      if (at == end) return nullptr;
      if (*at != '"') continue;
      if (at + 1 == end || at[1] != '"') break;
      ++at;
    }
    ++at;
  }
  while (at != end && *at != ',') ++at;
  return at;
}

// Exponents, signs, blanks, quotes, words.
bool take_other(const char*& at, const char* end, double& value) {
  const char* stop = field_end(at, end);
  if (stop == nullptr) return false;
  std::string_view field = trim({at, static_cast<size_t>(stop - at)});
  if (field.size() >= 2 && field.front() == '"' && field.back() == '"') field = trim(field.substr(1, field.size() - 2));
  if (field.starts_with('+')) field.remove_prefix(1);
  value = parse_double(field).value_or(kNoNumber);
  at = stop;
  return true;
}

}  // namespace

bool take_number(const char*& at, const char* end, double& value) {
  const char* p = at;
  if (p == end || *p == ',') {
    value = kNoNumber;
    return true;
  }
  const bool negative = *p == '-';
  p += negative ? 1 : 0;
  uint64_t digits = 0;
  const char* first = p;
  unsigned digit;
  for (; p != end && (digit = static_cast<unsigned>(*p - '0')) < 10; ++p) digits = digits * 10 + digit;
  size_t count = static_cast<size_t>(p - first), decimals = 0;
  if (p != end && *p == '.') {
    first = ++p;
    for (; p != end && (digit = static_cast<unsigned>(*p - '0')) < 10; ++p) digits = digits * 10 + digit;
    decimals = static_cast<size_t>(p - first);
    count += decimals;
  }
  if ((p != end && *p != ',') || count == 0 || count > 15) return take_other(at, end, value);
  value = static_cast<double>(digits);
  if (decimals > 0) value /= kTens[decimals];
  if (negative) value = -value;
  at = p;
  return true;
}

bool FieldSplitter::next() {
  if (ended_) return false;
  const char *begin = rest_.data(), *end = begin + rest_.size(), *stop = field_end(begin, end);
  if (stop == nullptr) return false;
  field_ = {begin, static_cast<size_t>(stop - begin)};
  quoted_ = field_.starts_with('"');
  ended_ = stop == end;
  if (!ended_) rest_.remove_prefix(field_.size() + 1);
  return true;
}

std::string_view FieldSplitter::text(std::string& room) const {
  if (!quoted_) return field_;
  room.clear();
  for (size_t i = 1; i < field_.size(); ++i) {
    if (field_[i] == '"' && (i + 1 >= field_.size() || field_[i + 1] != '"')) break;
    if (field_[i] == '"') ++i;
    room += field_[i];
  }
  return room;
}

}  // namespace tacho
