#include "katib/read/json_line.h"

#include <cstdint>

#include "base/text.h"

namespace tacho {
namespace {

constexpr size_t kDeepestJson = 10'000;  // as Go's decoder

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// The four digits behind "\u"; −1 when they are none.
int32_t code_unit(std::string_view text) {
  if (text.size() < 4) return -1;
  int32_t unit = 0;
  for (size_t i = 0; i < 4; ++i) {
    const int digit = hex_digit(text[i]);
    if (digit < 0) return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

void put_utf8(std::string& to, int32_t point) {
  const auto put = [&](int32_t byte) { to += static_cast<char>(byte); };
  if (point < 0x80) return put(point);
  if (point < 0x800) {
    put(0xC0 | point >> 6);
  } else {
    if (point < 0x10000) {
      put(0xE0 | point >> 12);
    } else {
      put(0xF0 | point >> 18);
      put(0x80 | (point >> 12 & 0x3F));
    }
    put(0x80 | (point >> 6 & 0x3F));
  }
  put(0x80 | (point & 0x3F));
}

char simple_escape(char c) {
  switch (c) {
    case '"':
    case '\\':
    case '/': return c;
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return '\0';
  }
}

}  // namespace

void JsonLine::skip_space() {
  while (at_ < end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r' || *at_ == '\n')) ++at_;
}

bool JsonLine::take(char c) {
  skip_space();
  if (at_ == end_ || *at_ != c) return false;
  ++at_;
  return true;
}

bool JsonLine::parse_word(std::string_view word) {
  if (!std::string_view(at_, static_cast<size_t>(end_ - at_)).starts_with(word)) return false;
  at_ += word.size();
  return true;
}

// -?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?
bool JsonLine::parse_number(std::string_view& text) {
  const char* const begin = at_;
  const auto digits = [&] {
    const char* const from = at_;
    while (at_ < end_ && is_digit(*at_)) ++at_;
    return at_ > from;
  };
  if (at_ < end_ && *at_ == '-') ++at_;
  if (at_ < end_ && *at_ == '0') {
    ++at_;
  } else if (!digits()) {
    return false;
  }
  if (at_ < end_ && *at_ == '.') {
    ++at_;
    if (!digits()) return false;
  }
  if (at_ < end_ && (*at_ == 'e' || *at_ == 'E')) {
    ++at_;
    if (at_ < end_ && (*at_ == '+' || *at_ == '-')) ++at_;
    if (!digits()) return false;
  }
  text = {begin, static_cast<size_t>(at_ - begin)};
  return true;
}

// at_ is behind the opening quote; leaves it behind the closing one.
bool JsonLine::parse_string(std::string_view& text, std::string& scratch, bool wanted) {
  const char* const begin = at_;
  bool plain = true;
  while (at_ < end_ && *at_ != '"') {
    const auto c = static_cast<unsigned char>(*at_);
    if (c < 0x20) return false;
    if (c >= 0x80) plain = false;
    if (c == '\\') {
      plain = false;
      if (++at_ == end_) return false;
      if (*at_ == 'u') {
        if (code_unit({at_ + 1, static_cast<size_t>(end_ - at_ - 1)}) < 0) return false;
        at_ += 4;
      } else if (simple_escape(*at_) == '\0') {
        return false;
      }
    }
    ++at_;
  }
  if (at_ == end_) return false;
  text = {begin, static_cast<size_t>(at_ - begin)};
  ++at_;
  if (plain || !wanted) return true;
  decode(text, scratch);
  text = scratch;
  return true;
}

// The escapes of `raw` were checked before.
void JsonLine::decode(std::string_view raw, std::string& to) const {
  constexpr int32_t kReplacement = 0xFFFD;
  to.clear();
  while (!raw.empty()) {
    if (raw[0] != '\\') {
      const size_t length = utf8_length(raw);
      if (length == 0) put_utf8(to, kReplacement);
      else to += raw.substr(0, length);
      raw.remove_prefix(length == 0 ? 1 : length);
      continue;
    }
    if (raw[1] != 'u') {
      to += simple_escape(raw[1]);
      raw.remove_prefix(2);
      continue;
    }
    int32_t point = code_unit(raw.substr(2));
    raw.remove_prefix(6);
    if (point >= 0xD800 && point < 0xE000) {
      const int32_t low = point < 0xDC00 && raw.starts_with("\\u") ? code_unit(raw.substr(2)) : -1;
      const bool pair = low >= 0xDC00 && low < 0xE000;
      point = pair ? 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00) : kReplacement;
      if (pair) raw.remove_prefix(6);
    }
    put_utf8(to, point);
  }
}

// An object or array below the top: at_ is behind its opening bracket, which is in open_.
bool JsonLine::skip_nested() {
  std::string_view ignored;
  bool first = true;
  while (!open_.empty()) {
    const bool in_object = open_.back() == '{';
    if (take(in_object ? '}' : ']')) {
      open_.pop_back();
      first = false;
      continue;
    }
    if (!first && !take(',')) return false;
    first = false;
    if (in_object && (!take('"') || !parse_string(ignored, key_, false) || !take(':'))) return false;
    skip_space();
    if (at_ == end_) return false;
    if (*at_ == '{' || *at_ == '[') {
      if (open_.size() >= kDeepestJson) return false;
      open_ += *at_++;
      first = true;
    } else if (*at_ == '"') {
      ++at_;
      if (!parse_string(ignored, value_, false)) return false;
    } else if (*at_ == '-' || is_digit(*at_)) {
      if (!parse_number(ignored)) return false;
    } else if (!parse_word("true") && !parse_word("false") && !parse_word("null")) {
      return false;
    }
  }
  return true;
}

bool JsonLine::parse_value(JsonMember& member) {
  skip_space();
  if (at_ == end_) return false;
  switch (*at_) {
    case '{':
    case '[':
      member.kind = *at_ == '{' ? JsonKind::object : JsonKind::array;
      open_.assign(1, *at_++);
      return skip_nested();
    case '"':
      ++at_;
      member.kind = JsonKind::string;
      return parse_string(member.text, value_, true);
    case 't':
    case 'f': member.kind = JsonKind::boolean; return parse_word("true") || parse_word("false");
    case 'n': member.kind = JsonKind::null; return parse_word("null");
    default: member.kind = JsonKind::number; return parse_number(member.text);
  }
}

bool JsonLine::parse(std::string_view line, const Visit& visit) {
  at_ = line.data();
  end_ = at_ + line.size();
  const auto at_end = [&] {
    skip_space();
    return at_ == end_;
  };
  skip_space();
  if (parse_word("null")) return at_end();
  if (!take('{')) return false;
  if (take('}')) return at_end();
  do {
    JsonMember member;
    if (!take('"') || !parse_string(member.key, key_, true) || !take(':') || !parse_value(member)) return false;
    visit(member);
  } while (take(','));
  return take('}') && at_end();
}

}  // namespace tacho
