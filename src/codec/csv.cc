#include "codec/csv.h"

#include <array>

#include "base/fixed_text.h"
#include "base/units.h"

namespace tacho {

void put_unix_seconds(Writer& out, int64_t realtime_ns) {
  const int64_t ms = realtime_ns / kNsPerMs;
  out.put_int(ms / 1000);
  const auto digit = [](int64_t value) { return static_cast<char>('0' + value % 10); };
  out.put('.');
  out.put(digit(ms / 100));
  out.put(digit(ms / 10));
  out.put(digit(ms));
}

void write_csv_header(Writer& out, const Schema& schema) {
  for (size_t i = 0; i < schema.size(); ++i) {
    if (i > 0) out.put(',');
    out.put(schema[i].name);
  }
  out.put('\n');
}

void write_csv_row(Writer& out, const Schema& schema, const Row& row, bool whole_seconds) {
  std::array<char, 8 * kLongestFixed> cells;  // put together beside the writer, in as few pieces as can be
  char* at = cells.data();
  const auto flush = [&] {
    out.put(std::string_view(cells.data(), static_cast<size_t>(at - cells.data())));
    at = cells.data();
  };
  for (size_t i = 0; i < schema.size(); ++i) {
    if (i > 0) *at++ = ',';
    if (schema[i].position == 1) {
      flush();
      if (whole_seconds) out.put_int(row.realtime_ns / kNsPerSec);
      else put_unix_seconds(out, row.realtime_ns);
    } else if (i < row.cells.size()) {
      at = write_fixed(at, row.cells[i], schema[i].decimals);
    }
    if (static_cast<size_t>(cells.data() + cells.size() - at) < kLongestFixed + 2) flush();
  }
  *at++ = '\n';
  flush();
}

}  // namespace tacho
