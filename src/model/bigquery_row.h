// A row for BigQuery from a table of lines: each says what a column is and how its value is written, so that schema,
// row and document (tacho bq columns) come from the same line. Unknown values are left out, never 0. Not thread-safe.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "base/writer.h"
#include "model/bigquery.h"

namespace tacho {

// Members of one object. Numbers are written as short as they are: a row should stay below a kilobyte.
class BqRowWriter {
 public:
  explicit BqRowWriter(Writer& out) : json_(out) { json_.object(); }
  void end() { json_.end_object(); }
  void name(std::string_view column) { name_ = column; }  // of the next value

  void text(std::string_view value) { json_.key(name_).value(value); }  // an empty one is a value too
  void known(std::string_view value) {                                  // an empty one is not
    if (!value.empty()) text(value);
  }
  void null() { json_.key(name_).null(); }
  void flag(bool value) { json_.key(name_).value(value); }
  void whole(const std::optional<int64_t>& value);
  void number(const std::optional<double>& value, int decimals = 4);
  void size(const std::optional<double>& gigabytes) { number(gigabytes, 6); }
  void time(const std::optional<int64_t>& realtime_ns);

  // An array of what get() makes of each item; left out when it is empty or an item has no value, as an array has no
  // gaps.
  template <class Items, class Get>
  void numbers(const Items& items, Get get, int decimals = 4) {
    const auto known = [&](const auto& item) {
      const std::optional<double> value = std::invoke(get, item);
      return value && std::isfinite(*value);
    };
    if (items.empty() || !std::all_of(items.begin(), items.end(), known)) return;
    json_.key(name_).array();
    for (const auto& item : items) put(*std::optional<double>(std::invoke(get, item)), decimals);
    json_.end_array();
  }
  template <class Items, class Get>
  void sizes(const Items& items, Get get) {
    numbers(items, get, 6);
  }
  template <class Items, class Get>
  void texts(const Items& items, Get get) {
    if (items.empty()) return;
    json_.key(name_).array();
    for (const auto& item : items) json_.value(std::invoke(get, item));
    json_.end_array();
  }

 private:
  void put(double value, int decimals);

  JsonWriter json_;
  Writer scratch_{64};
  std::string_view name_;
};

// One column. `write` calls one function of the row; null: somebody else adds the value, the table says who.
template <class Source>
struct BqLine {
  std::string_view name;
  BqType type;
  BqMode mode;
  bool added;
  std::string_view text;
  void (*write)(BqRowWriter& row, const Source& of);
  std::span<const BqColumn> fields = {};
};

// What a line says of its column: the schema.
template <class Source, size_t N>
constexpr std::array<BqColumn, N> columns_of(const std::array<BqLine<Source>, N>& lines) {
  std::array<BqColumn, N> columns{};
  for (size_t i = 0; i < N; ++i)
    columns[i] = {lines[i].name, lines[i].type, lines[i].mode, lines[i].added, lines[i].text, lines[i].fields};
  return columns;
}

// The members of all lines that write one, in their order.
template <class Lines, class Source>
void write_bq_row(Writer& out, const Lines& lines, const Source& of) {
  BqRowWriter row(out);
  for (const auto& line : lines) {
    if (line.write == nullptr) continue;
    row.name(line.name);
    line.write(row, of);
  }
  row.end();
}

}  // namespace tacho
