#include "katib/collect/row_digest.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/hex.h"
#include "base/text.h"

namespace tacho {
namespace {

uint64_t mixed(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// The first `size` bytes, 1 to 8, as a little-endian number: without a call, since it is done for every row.
uint64_t word(const char* at, size_t size) {
  static_assert(std::endian::native == std::endian::little);
  const auto load = [](const char* from, auto out) {
    std::memcpy(&out, from, sizeof out);
    return static_cast<uint64_t>(out);
  };
  if (size == 8) return load(at, uint64_t{});
  if (size >= 4) return load(at, uint32_t{}) | load(at + size - 4, uint32_t{}) << 8 * (size - 4);
  const auto byte = [&](size_t number) { return load(at + number, uint8_t{}) << 8 * number; };
  return byte(0) | byte(size / 2) | byte(size - 1);
}

// No secret: whoever could make two rows of one hash could as well report what he likes.
uint64_t hash_row(int64_t time_us, std::string_view value) {
  constexpr uint64_t kFirst = 0x9E3779B97F4A7C15, kSecond = 0xE7037ED1A0B428DB, kThird = 0xA0761D6478BD642F;
  uint64_t hash = mixed(static_cast<uint64_t>(time_us) ^ kFirst, value.size() ^ kSecond);
  const char* at = value.data();
  size_t left = value.size();
  for (; left > 8; left -= 8, at += 8) hash = mixed(hash ^ word(at, 8), kThird);
  if (left > 0) hash = mixed(hash ^ word(at, left), kThird);
  return mixed(hash ^ kSecond, kFirst);
}

}  // namespace

void RowDigest::add(int64_t time_us, std::string_view value) {
  const uint64_t hash = hash_row(time_us, value);
  sums_[hash >> 59] += hash;  // five bits: 32 buckets
  newest_us_ = rows_++ == 0 ? time_us : std::max(newest_us_, time_us);
}

// "rows newest sum0 sum1 …", sums in hexadecimal.
std::string RowDigest::text() const {
  std::string out = std::to_string(rows_) + " " + std::to_string(newest_us_);
  std::array<char, 16> digits;
  for (const uint64_t sum : sums_) {
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), sum, 16).ptr;
    out.append(" ").append(digits.data(), end);
  }
  return out;
}

std::optional<RowDigest> RowDigest::parse(std::string_view text) {
  const auto parts = split(text, ' ');
  if (parts.size() != kBuckets + 2) return std::nullopt;
  const auto rows = parse_int<int64_t>(parts[0]), newest = parse_int<int64_t>(parts[1]);
  if (!rows || *rows < 0 || !newest) return std::nullopt;
  RowDigest out;
  out.rows_ = *rows;
  out.newest_us_ = *newest;
  for (size_t i = 0; i < kBuckets; ++i) {
    const auto sum = parse_hex<uint64_t>(parts[i + 2]);
    if (!sum) return std::nullopt;
    out.sums_[i] = *sum;
  }
  return out;
}

}  // namespace tacho
