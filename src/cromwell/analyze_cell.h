// Values of a table's row as BigQuery hands them out: in exports INT64 and TIMESTAMP are strings and FLOAT64 may be one
// ("NaN"), over REST every scalar is a string. What is no such value is nothing, never 0. Pure, thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "cromwell/json_reader.h"

namespace tacho {

struct TableCell {
  JsonReader::Token kind = JsonReader::Token::null;  // string, number, yes, no or null
  std::string_view text;                             // of a string or number

  bool is_null() const { return kind == JsonReader::Token::null; }
  std::optional<int64_t> integer() const;
  std::optional<double> number() const;  // finite only
  std::optional<bool> flag() const;
  // "2026-11-15 09:30:00.25 UTC", any ISO form, or over REST seconds since 1970 as a number; µs since 1970.
  std::optional<int64_t> time_us() const;
};

// Who is given a row's values one by one. An element of a list has its place in it; a member of a record its name.
class CellTarget {
 public:
  virtual ~CellTarget() = default;
  virtual void cell(std::string_view column, size_t element, std::string_view member, const TableCell& cell) = 0;
};

}  // namespace tacho
