// The letters that stand behind \w and \s of a regular expression, as RE2 has them (without \v); \d is is_digit().
#pragma once
#include "base/text.h"

namespace tacho {

constexpr bool is_word(char c) { return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_'; }
constexpr bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r'; }

}  // namespace tacho
