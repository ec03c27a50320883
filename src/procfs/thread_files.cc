#include "procfs/thread_files.h"

#include <algorithm>

#include "base/hex.h"

namespace tacho {
namespace {

bool parse_word(std::string_view word, uint64_t& value) {
  const auto read = word.starts_with("0x") ? parse_hex<uint64_t>(word.substr(2)) : std::nullopt;
  value = read.value_or(0);
  return read.has_value();
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
      if (!parse_word(scan.word(), argument)) return false;
  uint64_t stack = 0, counter = 0;
  if (!parse_word(scan.word(), stack) || !parse_word(scan.word(), counter)) return false;
  out.is_32_bit = stack != 0 && stack <= UINT32_MAX && counter <= UINT32_MAX;
  return true;
}

std::string_view plain_wchan(std::string_view text) {
  text = text.substr(0, std::min(text.find('\n'), text.size()));
  return text.substr(0, std::min(text.find('.'), text.size()));
}

}  // namespace tacho
