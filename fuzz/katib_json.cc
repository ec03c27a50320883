// A line of a JSON log, held against another parser where the two must agree.
#include <nlohmann/json.hpp>
#include <string>

#include "base/text.h"
#include "katib/read/json_line.h"
#include "katib/read/json_time.h"
#include "target.h"

void fuzz_one(std::string_view text) {
  tacho::JsonLine json;
  std::string last;
  const bool taken = json.parse(text, [&](const tacho::JsonMember& member) {
    require(tacho::valid_utf8(member.key) == member.key && tacho::valid_utf8(member.text) == member.text);
    if (member.kind == tacho::JsonKind::number) {
      tacho::json_time_by_digits(member.text);
      tacho::json_time_exact(member.text);
    }
  });
  // The other one takes no lone surrogates, no bytes that are not UTF-8 and no number that is too large, but a byte
  // order mark and a NUL as the end.
  const bool plain = tacho::valid_utf8(text) == text && text.find("\\u") == std::string_view::npos &&
                     !text.starts_with("\xef\xbb\xbf") &&
                     text.find_first_of(std::string_view("eE\0", 3)) == std::string_view::npos && text.size() < 300;
  if (!plain) return;
  const auto other = nlohmann::json::parse(text, nullptr, false);
  require(taken == (other.is_object() || other.is_null()));
}
