#include "spool/bq_record.h"

#include <array>
#include <charconv>
#include <cstdio>

#include "base/crc32c.h"
#include "base/text.h"

namespace tacho {
namespace {

constexpr size_t kCrcDigits = 8;

// "312 " in front of rest; cut off where it was found.
template <class Int>
bool take_number(std::string_view& rest, Int& value, int base = 10) {
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value, base);
  const auto used = static_cast<size_t>(end - rest.data());
  if (error != std::errc{} || used >= rest.size() || *end != ' ') return false;
  rest.remove_prefix(used + 1);
  return true;
}

// One line without its end.
bool parse_record(std::string_view line, BqRecord& record) {
  std::string_view rest = line;
  size_t length = 0;
  uint32_t crc = 0;
  if (!take_number(rest, length) || rest.size() <= kCrcDigits || rest[kCrcDigits] != ' ' || !take_number(rest, crc, 16))
    return false;
  if (rest.size() != length || crc32c(rest) != crc || rest.size() < 2 || rest[1] != ' ') return false;
  record.table = rest[0];
  rest.remove_prefix(2);
  if (!take_number(rest, record.time_us)) return false;
  record.row = rest;
  return rest.starts_with('{') && rest.ends_with('}');
}

}  // namespace

void write_bq_record(Writer& out, char table, int64_t time_us, std::string_view row) {
  std::array<char, 32> head;
  const int head_size = std::snprintf(head.data(), head.size(), "%c %lld ", table, static_cast<long long>(time_us));
  const std::string_view start(head.data(), static_cast<size_t>(head_size));
  const uint32_t crc = crc32c(row, crc32c(start));
  std::array<char, 40> frame;
  const int frame_size = std::snprintf(frame.data(), frame.size(), "%zu %08x ", start.size() + row.size(), crc);
  out.put(std::string_view(frame.data(), static_cast<size_t>(frame_size)));
  out.put(start);
  out.put(row);
  out.put('\n');
}

bool BqRecords::next(BqRecord& record) {
  while (!rest_.empty()) {
    const size_t end = rest_.find('\n');
    const std::string_view line = rest_.substr(0, end);
    const bool whole = end != std::string_view::npos && parse_record(line, record);
    if (whole) record.line = rest_.substr(0, end + 1);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    if (whole) return true;
    ++damaged_;
  }
  return false;
}

size_t whole_bq_records(std::string_view text, int64_t* rows) {
  size_t good = 0;
  int64_t count = 0;
  BqRecords records(text);
  for (BqRecord record; records.next(record); ++count)
    good = static_cast<size_t>(record.line.data() - text.data()) + record.line.size();
  if (rows != nullptr) *rows = count;
  return good;
}

}  // namespace tacho
