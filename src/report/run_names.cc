#include "report/run_names.h"

#include <algorithm>

namespace tacho {
namespace {

constexpr size_t kDate = 8, kLeast = kDate + 1 + 4, kWhole = kDate + 1 + 12;

bool is_run_id(std::string_view id) {
  if (id.size() != kWhole || id[kDate] != '-') return false;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_hex = [&](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); };
  return std::all_of(id.begin(), id.begin() + kDate, is_digit) && std::all_of(id.begin() + kDate + 1, id.end(), is_hex);
}

}  // namespace

std::string shortest_unique(const std::vector<std::string>& names, const std::string& id) {
  if (!is_run_id(id)) return id;
  size_t length = kLeast;
  for (const std::string& other : names) {
    if (other == id) continue;
    const auto differ = std::mismatch(id.begin(), id.end(), other.begin(), other.end()).first;
    length = std::max(length, static_cast<size_t>(differ - id.begin()) + 1);
  }
  return id.substr(0, length);
}

bool is_part_of(std::string_view word, std::string_view id) {
  return word == id || (word.size() >= kShortestPart && id.find(word) != std::string_view::npos);
}

}  // namespace tacho
