#include "report/store/run_names.h"

#include <algorithm>
#include <functional>
#include <iterator>

namespace tacho {
namespace {

constexpr size_t kDate = 8, kLeast = kDate + 1 + 4, kWhole = kDate + 1 + 12;

bool is_run_id(std::string_view id) { return id.size() == kWhole && is_id_form(id); }

}  // namespace

bool is_id_form(std::string_view word) {
  if (word.size() < kLeast || word.size() > kWhole || word[kDate] != '-') return false;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_hex = [&](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); };
  return std::all_of(word.begin(), word.begin() + kDate, is_digit) &&
         std::all_of(word.begin() + kDate + 1, word.end(), is_hex);
}

std::string shortest_unique(const std::vector<std::string>& names, const std::string& id) {
  if (!is_run_id(id)) return id;
  size_t length = kLeast;
  const auto look_at = [&](const std::string& other) {
    const auto differ = std::mismatch(id.begin(), id.end(), other.begin(), other.end()).first;
    length = std::max(length, static_cast<size_t>(differ - id.begin()) + 1);
  };
  // Its neighbours have most in common with it.
  const auto [behind, before] = std::equal_range(names.begin(), names.end(), id, std::greater<>());
  if (behind != names.begin()) look_at(*std::prev(behind));
  if (before != names.end()) look_at(*before);
  return id.substr(0, length);
}

bool is_part_of(std::string_view word, std::string_view id) {
  return word == id || (word.size() >= kShortestPart && id.find(word) != std::string_view::npos);
}

}  // namespace tacho
