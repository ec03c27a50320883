#include "procfs/thread_files.h"

#include <algorithm>

namespace tacho {
namespace {

bool parse_hex(std::string_view word, uint64_t& value) {
  constexpr size_t kMostDigits = 16;
  if (!word.starts_with("0x") || word.size() < 3 || word.size() > 2 + kMostDigits) return false;
  uint64_t result = 0;
  for (const char c : word.substr(2)) {
    const bool is_letter = c >= 'a' && c <= 'f';
    if (!is_letter && !is_digit(c)) return false;
    result = result << 4 | static_cast<uint64_t>(is_letter ? c - 'a' + 10 : c - '0');
  }
  value = result;
  return true;
}

}  // namespace

bool parse_thread_syscall(std::string_view text, ThreadSyscall& out) {
  out = {};
  Scanner scan(text);
  if (scan.literal("running")) {
    out.kind = ThreadSyscall::Kind::running;
    return true;
  }
  if (!scan.signed_number(out.number)) return false;
  out.kind = out.number < 0 ? ThreadSyscall::Kind::none : ThreadSyscall::Kind::inside;
  if (out.kind == ThreadSyscall::Kind::inside)
    for (uint64_t& argument : out.arguments)
      if (!parse_hex(scan.word(), argument)) return false;
  uint64_t stack = 0, counter = 0;
  if (!parse_hex(scan.word(), stack) || !parse_hex(scan.word(), counter)) return false;
  out.is_32_bit = stack != 0 && stack <= UINT32_MAX && counter <= UINT32_MAX;
  return true;
}

std::string_view plain_wchan(std::string_view text) {
  text = text.substr(0, std::min(text.find('\n'), text.size()));
  return text.substr(0, std::min(text.find('.'), text.size()));
}

}  // namespace tacho
