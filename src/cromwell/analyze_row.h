// Takes rows apart, in either of BigQuery's JSON forms, and hands out their values. Bounded: what is nested deeper than
// a list of records is passed over. Not thread-safe.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cromwell/analyze_cell.h"

namespace tacho {

// A JSON document that lies in memory.
class TextJson {
 public:
  JsonReader& start(std::string_view text);  // the text must stay

 private:
  size_t fill(char* to, size_t room);

  std::string_view rest_;
  JsonReader json_{[this](char* to, size_t room) -> Result<size_t> { return fill(to, room); }};
};

// A line of an export: {"column": value, "list": [value, …], "records": [{"member": value, …}, …]}.
class ExportLineReader {
 public:
  // The error says what is wrong, without a path.
  Status read(std::string_view line, CellTarget& target);

 private:
  bool column(JsonReader& json, CellTarget& target);
  bool element(JsonReader& json, JsonReader::Token first, size_t at, CellTarget& target);

  TextJson text_;
  std::string column_, member_;
};

// A column of a query's answer.
struct PageColumn {
  std::string name;
  std::vector<std::string> members;  // of a record
};

// A page over REST: {"rows": [{"f": [{"v": value}, …]}, …], "pageToken": …}; values without names, in the order of the
// columns.
class PageReader {
 public:
  explicit PageReader(std::vector<PageColumn> columns) : columns_(std::move(columns)) {}
  // Calls end_of_row() behind each row's values. The result is the token of the next page, empty at the last one.
  Result<std::string> read(std::string_view page, CellTarget& target, const std::function<void()>& end_of_row);

 private:
  bool rows(JsonReader& json, CellTarget& target, const std::function<void()>& end_of_row);
  bool fields(JsonReader& json, const std::function<bool(size_t at, JsonReader::Token first)>& value);
  bool value(JsonReader& json, JsonReader::Token first, const PageColumn& column, CellTarget& target);
  bool scalar(JsonReader& json, JsonReader::Token first, const PageColumn& column, size_t at, CellTarget& target);

  TextJson text_;
  std::vector<PageColumn> columns_;
};

}  // namespace tacho
