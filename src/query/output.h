// The rows of a query on stdout: a table for a person, CSV (RFC 4180), a JSON array or JSON lines. In constant memory:
// a table's widths are those of its first rows. Not thread-safe.
#pragma once
#include <sqlite3.h>

#include <memory>

namespace tacho {

enum class RowFormat { table, csv, json, jsonl };

class RowOutput {
 public:
  virtual ~RowOutput() = default;
  virtual void begin(sqlite3_stmt* statement) = 0;
  virtual void row(sqlite3_stmt* statement) = 0;
  virtual void end() = 0;
};

std::unique_ptr<RowOutput> make_output(RowFormat format);
// Whether all of it reached stdout.
bool output_is_written();

}  // namespace tacho
