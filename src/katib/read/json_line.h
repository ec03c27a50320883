// One line of a JSON log: strict JSON as Go's decoder takes it, the members of the top object only. Nested values are
// checked and passed over. Bytes that are not UTF-8, and lone surrogates, become U+FFFD. No recursion; no allocation
// but for strings with escapes. Not thread-safe.
#pragma once
#include <functional>
#include <string>
#include <string_view>

namespace tacho {

enum class JsonKind { null, boolean, number, string, object, array };

struct JsonMember {
  std::string_view key;
  JsonKind kind = JsonKind::null;
  std::string_view text;  // a number as it is written, a string as it is meant; good until the next member
};

class JsonLine {
 public:
  using Visit = std::function<void(const JsonMember&)>;
  // False when the line is no JSON object; some members may have been visited by then. "null" is an object without any.
  bool parse(std::string_view line, const Visit& visit);

 private:
  bool parse_value(JsonMember& member);
  bool skip_nested();
  bool parse_string(std::string_view& text, std::string& scratch, bool wanted);
  void decode(std::string_view raw, std::string& to) const;
  bool parse_number(std::string_view& text);
  bool parse_word(std::string_view word);
  void skip_space();
  bool take(char c);

  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::string key_, value_;  // decoded
  std::string open_;         // brackets of nested values
};

}  // namespace tacho
