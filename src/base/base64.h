// Base64 (RFC 4648 §4), and back into bytes from both alphabets (§4 and §5), with or without padding. Pure,
// thread-safe.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace tacho {

std::string base64(std::string_view bytes);
// Nothing when a character does not belong there or a rest makes no byte. Line breaks and blanks are passed over.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace tacho
