// One cell of a table, and a column that makes it. Plain data.
#pragma once
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tacho {

struct RunRow;

// NULL, a number or a text; the text must live until the row is stored.
using Cell = std::variant<std::monostate, int64_t, double, std::string_view>;
using RowTaker = std::function<void(const std::vector<Cell>& cells)>;

enum class CellType : uint8_t { text, integer, real };

struct TableColumn {
  std::string_view name;
  CellType type;
  std::string_view help;
  std::string_view function{};  // not kept: the SQL function that tells it by the run
};

// Unknown is NULL, never 0 or an empty text.
inline Cell known(std::string_view text) { return text.empty() ? Cell{} : Cell{text}; }
inline Cell known(const std::string& text) { return known(std::string_view(text)); }
inline Cell known(const std::optional<std::string>& text) { return text ? known(std::string_view(*text)) : Cell{}; }
inline Cell known(double value) { return std::isfinite(value) ? Cell{value} : Cell{}; }
inline Cell known(const std::optional<double>& value) { return value ? known(*value) : Cell{}; }
template <class Int>
  requires std::integral<Int>
Cell known(const std::optional<Int>& value) {
  return value ? Cell{static_cast<int64_t>(*value)} : Cell{};
}
// Bytes and counts, which are computed as doubles.
inline Cell whole(double value) {
  return std::isfinite(value) && std::fabs(value) < 9e18 ? Cell{static_cast<int64_t>(std::llround(value))} : Cell{};
}

}  // namespace tacho
