#include "query/output.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "base/text_width.h"
#include "base/writer.h"
#include "os/environment.h"

namespace tacho {
namespace {

bool failed = false;

void print(std::string_view text) {
  failed = failed || std::fwrite(text.data(), 1, text.size(), stdout) != text.size();
}

std::string_view text_of(sqlite3_stmt* statement, int column) {
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
  return data != nullptr ? std::string_view(data, static_cast<size_t>(sqlite3_column_bytes(statement, column)))
                         : std::string_view();
}

// The shortest that reads back the same. SQLite has infinities (9e999), and no JSON has.
std::string exact(double value) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value);
  std::string text(digits, end.ptr);
  if (std::isfinite(value) && text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string hex_of(sqlite3_stmt* statement, int column) {
  const auto* bytes = static_cast<const unsigned char*>(sqlite3_column_blob(statement, column));
  std::string out;
  for (int i = 0; i < sqlite3_column_bytes(statement, column); ++i)
    for (const int digit : {bytes[i] >> 4, bytes[i] & 15}) out += "0123456789abcdef"[digit];
  return out;
}

// NULL is an empty text.
std::string plain(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_FLOAT: return exact(sqlite3_column_double(statement, column));
    case SQLITE_BLOB: return hex_of(statement, column);
    default: return std::string(text_of(statement, column));
  }
}

class CsvRows : public RowOutput {
 public:
  void begin(sqlite3_stmt* statement) override {
    line_.clear();
    for (int i = 0; i < sqlite3_column_count(statement); ++i) put(i, sqlite3_column_name(statement, i));
    print(line_ += '\n');
  }
  void row(sqlite3_stmt* statement) override {
    line_.clear();
    for (int i = 0; i < sqlite3_column_count(statement); ++i) put(i, plain(statement, i));
    if (line_.empty()) line_ = "\"\"";  // a NULL alone: readers pass over an empty line
    print(line_ += '\n');
  }
  void end() override {}

 private:
  void put(int column, std::string_view text) {
    if (column > 0) line_ += ',';
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
      line_ += text;
      return;
    }
    line_ += '"';
    for (const char c : text) line_.append(c == '"' ? 2 : 1, c);
    line_ += '"';
  }
  std::string line_;
};

class JsonRows : public RowOutput {
 public:
  explicit JsonRows(bool lines) : lines_(lines) {}
  void begin(sqlite3_stmt* statement) override {
    for (int i = 0; i < sqlite3_column_count(statement); ++i) {
      Writer name;
      JsonWriter(name).value(sqlite3_column_name(statement, i));
      names_.emplace_back(name.view());
    }
    if (!lines_) print("[");
  }
  void row(sqlite3_stmt* statement) override {
    text_.clear();
    text_.put(lines_ ? "{" : rows_ == 0 ? "\n{" : ",\n{");
    for (int i = 0; i < static_cast<int>(names_.size()); ++i) {
      text_.put(i > 0 ? "," : "");
      text_.put(names_[static_cast<size_t>(i)]);
      text_.put(':');
      put(statement, i);
    }
    text_.put(lines_ ? "}\n" : "}");
    print(text_.view());
    ++rows_;
  }
  void end() override {
    if (!lines_) print(rows_ == 0 ? "]\n" : "\n]\n");
  }

 private:
  void put(sqlite3_stmt* statement, int column) {
    const double real = sqlite3_column_double(statement, column);
    switch (sqlite3_column_type(statement, column)) {
      case SQLITE_NULL: return text_.put("null");
      case SQLITE_INTEGER: return text_.put_int(sqlite3_column_int64(statement, column));
      case SQLITE_FLOAT: return text_.put(std::isfinite(real) ? exact(real) : "null");
      default: JsonWriter(text_).value(plain(statement, column));
    }
  }
  bool lines_;
  int64_t rows_ = 0;
  std::vector<std::string> names_;
  Writer text_;
};

class TableRows : public RowOutput {
 public:
  void begin(sqlite3_stmt* statement) override {
    std::vector<std::string> names;
    for (int i = 0; i < sqlite3_column_count(statement); ++i)
      names.push_back(harmless_text(sqlite3_column_name(statement, i)));
    right_.assign(names.size(), true);
    held_.push_back(std::move(names));
  }
  void row(sqlite3_stmt* statement) override {
    std::vector<std::string> cells;
    for (int i = 0; i < static_cast<int>(right_.size()); ++i) {
      const int type = sqlite3_column_type(statement, i);
      if (type == SQLITE_TEXT || type == SQLITE_BLOB) right_[static_cast<size_t>(i)] = false;
      // Of numbers the fifteen digits that are sure; of texts what a line has room for.
      const bool is_text = type == SQLITE_TEXT;
      cells.push_back(is_text               ? shortened(text_of(statement, i))
                      : type == SQLITE_BLOB ? shortened(plain(statement, i))
                                            : std::string(text_of(statement, i)));
    }
    if (widths_.empty()) held_.push_back(std::move(cells));
    else print_line(cells);
    if (held_.size() > kHeldRows) print_held();
  }
  void end() override { print_held(); }

 private:
  static constexpr size_t kHeldRows = 1000, kLongestCell = 80, kMostRead = 4 * kLongestCell;

  static std::string shortened(std::string_view text) {
    const std::string one_line = harmless_text(text.substr(0, kMostRead));
    if (text.size() <= kMostRead) return cut_to(one_line, kLongestCell);
    return cut_to(one_line, kLongestCell - 1, "") + "…";
  }
  void print_held() {
    if (held_.empty()) return;
    widths_.assign(right_.size(), 0);
    for (const auto& cells : held_)
      for (size_t i = 0; i < cells.size(); ++i) widths_[i] = std::max(widths_[i], text_width(cells[i]));
    for (const auto& cells : held_) print_line(cells);
    held_.clear();
  }
  void print_line(const std::vector<std::string>& cells) {
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i) {
      const size_t width = text_width(cells[i]), gap = widths_[i] > width ? widths_[i] - width : 0;
      if (i > 0) line += "  ";
      if (right_[i]) line.append(gap, ' ');
      line += cells[i];
      if (!right_[i] && i + 1 < cells.size()) line.append(gap, ' ');
    }
    print(in_locale(line + "\n"));
  }
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> held_;
  std::vector<size_t> widths_;
};

}  // namespace

std::unique_ptr<RowOutput> make_output(RowFormat format) {
  if (format == RowFormat::csv) return std::make_unique<CsvRows>();
  if (format == RowFormat::table) return std::make_unique<TableRows>();
  return std::make_unique<JsonRows>(format == RowFormat::jsonl);
}

bool output_is_written() { return std::fflush(stdout) == 0 && !failed; }

}  // namespace tacho
