#include "base/json_view.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/hex.h"
#include "base/text.h"

namespace tacho {
namespace {

constexpr uint64_t kOnes = 0x0101010101010101, kHighs = 0x8080808080808080;

// The high bit of the first byte of eight that is a quote, a backslash, a control character or not ASCII; zero when
// none is. Bytes behind it may be marked in error, those before it are not.
uint64_t marks_of_special(uint64_t bytes) {
  const auto zero = [](uint64_t x) { return (x - kOnes) & ~x; };
  const uint64_t control = (bytes - kOnes * 0x20) & ~bytes;
  return (zero(bytes ^ (kOnes * '"')) | zero(bytes ^ (kOnes * '\\')) | control | bytes) & kHighs;
}

bool take_hex(const char*& at, const char* end, uint32_t& code) {
  if (end - at < 4) return false;
  const auto digits = parse_hex<uint32_t>({at, 4});
  if (!digits) return false;
  code = *digits;
  at += 4;
  return true;
}

// Behind "\u": a character, of two such where it is beyond 16 bits.
bool take_escaped(const char*& at, const char* end, uint32_t& code) {
  if (!take_hex(at, end, code) || (code & 0xFC00) == 0xDC00) return false;
  if ((code & 0xFC00) != 0xD800) return true;
  uint32_t low = 0;
  if (end - at < 6 || at[0] != '\\' || at[1] != 'u') return false;
  at += 2;
  if (!take_hex(at, end, low) || (low & 0xFC00) != 0xDC00) return false;
  code = 0x10000 + ((code & 0x3FF) << 10) + (low & 0x3FF);
  return true;
}

void put_utf8(std::string& out, uint32_t code) {
  const auto put = [&](uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xC0 | code >> 6);
  } else {
    if (code < 0x10000) put(0xE0 | code >> 12);
    else put(0xF0 | code >> 18), put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
  }
  put(0x80 | (code & 0x3F));
}

}  // namespace

// One pass over a text; what is open is on a stack of its own.
class JsonParse {
 public:
  JsonParse(JsonText& json, std::string_view text)
      : nodes_(json.nodes_), begin_(text.data()), at_(begin_), end_(begin_ + text.size()) {}

  bool whole() {
    do {
      if (!value()) return false;
      if (!close()) return false;
    } while (depth_ > 0);
    blanks();
    return at_ == end_;
  }

 private:
  using Kind = JsonText::Kind;

  void blanks() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }
  bool take(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  void add(Kind kind, const char* from, size_t size) {
    nodes_.push_back({static_cast<uint32_t>(from - begin_), static_cast<uint32_t>(size), kind});
  }
  bool is_in_object() const { return nodes_[open_[depth_ - 1]].kind == Kind::object; }

  bool name() {
    blanks();
    if (!take('"') || !text()) return false;
    blanks();
    return take(':');
  }
  // A value, or the beginning of an array or object and what it begins with.
  bool value() {
    for (;;) {
      blanks();
      if (at_ == end_) return false;
      const char c = *at_;
      if (c != '{' && c != '[') return simple(c);
      if (depth_ == JsonText::kDeepest) return false;
      open_[depth_++] = static_cast<uint32_t>(nodes_.size());
      add(c == '{' ? Kind::object : Kind::array, at_++, 0);
      blanks();
      if (at_ != end_ && (*at_ == '}' || *at_ == ']')) return true;  // close() sees whether it fits
      if (c == '{' && !name()) return false;
    }
  }
  // Behind a value: the ends of what it was the last of, or the comma before the next one.
  bool close() {
    while (depth_ > 0) {
      blanks();
      if (at_ == end_) return false;
      const bool in_object = is_in_object();
      if (*at_ == ',' && nodes_.size() > open_[depth_ - 1] + size_t{1}) {
        ++at_;
        return !in_object || name();
      }
      if (*at_ != (in_object ? '}' : ']')) return false;
      ++at_;
      const uint32_t index = open_[--depth_];
      nodes_[index].size = static_cast<uint32_t>(nodes_.size() - index);
    }
    return true;
  }
  bool simple(char c) {
    switch (c) {
      case '"': ++at_; return text();
      case 't': return word("true", Kind::yes);
      case 'f': return word("false", Kind::no);
      case 'n': return word("null", Kind::null);
      default: return number();
    }
  }
  bool word(std::string_view expected, Kind kind) {
    if (!std::string_view(at_, static_cast<size_t>(end_ - at_)).starts_with(expected)) return false;
    add(kind, at_, expected.size());
    at_ += expected.size();
    return true;
  }
  bool digits() {
    const char* first = at_;
    while (at_ != end_ && is_digit(*at_)) ++at_;
    return at_ != first;
  }
  bool number() {
    const char* first = at_;
    take('-');
    if (!take('0') && !digits()) return false;
    if (take('.') && !digits()) return false;
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      if (!digits()) return false;
    }
    add(Kind::number, first, static_cast<size_t>(at_ - first));
    return true;
  }
  // To the next byte of a text that has a meaning of its own.
  void skip_plain() {
    if constexpr (std::endian::native == std::endian::little)
      for (uint64_t bytes; end_ - at_ >= 8; at_ += 8) {
        std::memcpy(&bytes, at_, 8);
        const uint64_t marks = marks_of_special(bytes);
        if (marks == 0) continue;
        at_ += std::countr_zero(marks) / 8;
        return;
      }
    while (at_ != end_ && static_cast<unsigned char>(*at_) - 0x20U < 0x60U && *at_ != '"' && *at_ != '\\') ++at_;
  }
  // Behind the quote, to behind the other one.
  bool text() {
    const char* first = at_;
    bool escaped = false;
    for (;;) {
      skip_plain();
      if (at_ == end_) return false;
      if (*at_ == '"') break;
      if (*at_ == '\\') {
        escaped = true;
        if (!escape()) return false;
      } else {
        const size_t length = utf8_length({at_, static_cast<size_t>(end_ - at_)});
        if (static_cast<unsigned char>(*at_) < 0x20 || length == 0) return false;
        at_ += length;
      }
    }
    add(escaped ? Kind::escaped_text : Kind::text, first, static_cast<size_t>(at_ - first));
    ++at_;
    return true;
  }
  bool escape() {
    if (end_ - at_ < 2) return false;
    const char c = at_[1];
    at_ += 2;
    uint32_t code;
    return c == 'u' ? take_escaped(at_, end_, code) : c != '\0' && std::strchr("\"\\/bfnrt", c) != nullptr;
  }

  std::vector<JsonText::Node>& nodes_;
  const char *begin_, *at_, *end_;
  uint32_t open_[JsonText::kDeepest];
  size_t depth_ = 0;
};

bool JsonText::parse(std::string_view text) {
  nodes_.clear();
  text_ = text;
  if (text.size() < std::numeric_limits<uint32_t>::max() && JsonParse(*this, text).whole()) return true;
  nodes_.clear();
  return false;
}

JsonView JsonText::root() const { return nodes_.empty() ? JsonView() : JsonView(*this, 0); }

std::optional<std::string> JsonView::string() const {
  if (!is_string()) return std::nullopt;
  const std::string_view raw = source();
  if (node().kind == JsonText::Kind::text) return std::string(raw);
  std::string out;
  for (const char *at = raw.data(), *end = at + raw.size(); at != end;) {
    const char* slash = static_cast<const char*>(std::memchr(at, '\\', static_cast<size_t>(end - at)));
    out.append(at, slash == nullptr ? end : slash);
    if (slash == nullptr) break;
    at = slash + 2;
    uint32_t code = 0;
    switch (slash[1]) {
      case 'u': take_escaped(at, end, code), put_utf8(out, code); break;
      case 'b': out += '\b'; break;
      case 'f': out += '\f'; break;
      case 'n': out += '\n'; break;
      case 'r': out += '\r'; break;
      case 't': out += '\t'; break;
      default: out += slash[1];
    }
  }
  return out;
}

std::optional<bool> JsonView::boolean() const {
  if (is(JsonText::Kind::yes)) return true;
  if (is(JsonText::Kind::no)) return false;
  return std::nullopt;
}

std::optional<double> JsonView::number() const { return is_number() ? parse_double(source()) : std::nullopt; }

std::optional<int64_t> JsonView::integer() const {
  if (!is_number()) return std::nullopt;
  if (const auto whole = parse_int<int64_t>(source())) return whole;
  const auto value = number();
  if (!value || std::fabs(*value) > 9e18) return std::nullopt;
  return static_cast<int64_t>(*value);
}

JsonView JsonView::operator[](std::string_view name) const {
  JsonView found;
  if (!is_object()) return found;
  const JsonText::Node* nodes = json_->nodes_.data();
  const char* text = json_->text_.data();
  for (uint32_t at = index_ + 1, behind = end(); at < behind;) {
    const JsonText::Node &own = nodes[at], &value = nodes[at + 1];
    const bool same = own.kind == JsonText::Kind::text
                          ? own.size == name.size() && std::memcmp(text + own.at, name.data(), own.size) == 0
                          : JsonView(*json_, at).string() == name;
    if (same) found = JsonView(*json_, at + 1);
    at += 1 + (value.kind >= JsonText::Kind::array ? value.size : 1);
  }
  return found;
}

}  // namespace tacho
