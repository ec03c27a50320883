#include "cromwell/analyze_row.h"

#include <algorithm>
#include <cstring>

namespace tacho {
namespace {

using Token = JsonReader::Token;

bool is_scalar(Token token) {
  return token == Token::string || token == Token::number || token == Token::yes || token == Token::no ||
         token == Token::null;
}

TableCell cell_of(const JsonReader& json, Token token) {
  return {token, token == Token::string || token == Token::number ? json.text() : std::string_view()};
}

// Tables are written in the case of the names that they have, and the same columns are meant.
void assign_lower(std::string& to, std::string_view name) {
  to.assign(name);
  for (char& c : to)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
}

// Members of the object that was just opened: each name goes to the function, which reads the value. False where the
// document is broken.
template <class Member>
bool each_member(JsonReader& json, const Member& member) {
  for (;;) {
    const Token token = json.next();
    if (token == Token::end_object) return true;
    if (token != Token::key || !member()) return false;
  }
}

// Elements of the list that was just opened, from their first token on.
template <class Element>
bool each_element(JsonReader& json, const Element& element) {
  for (size_t at = 0;; ++at) {
    const Token token = json.next();
    if (token == Token::end_array) return true;
    if (token == Token::broken || !element(at, token)) return false;
  }
}

}  // namespace

size_t TextJson::fill(char* to, size_t room) {
  const size_t size = std::min(room, rest_.size());
  std::memcpy(to, rest_.data(), size);
  rest_.remove_prefix(size);
  return size;
}

JsonReader& TextJson::start(std::string_view text) {
  rest_ = text;
  json_.restart();
  return json_;
}

Status ExportLineReader::read(std::string_view line, CellTarget& target) {
  JsonReader& json = text_.start(line);
  const Token first = json.next();
  if (first != Token::object && first != Token::broken)
    return Error{Code::invalid, "this is no object with the columns of a row", "", ""};
  const bool whole = first == Token::object && each_member(json, [&] { return column(json, target); });
  if (!whole || json.next() != Token::end) return json.error();
  return ok();
}

bool ExportLineReader::column(JsonReader& json, CellTarget& target) {
  assign_lower(column_, json.text());
  const Token first = json.next();
  if (first != Token::array) return element(json, first, 0, target);
  return each_element(json, [&](size_t at, Token token) { return element(json, token, at, target); });
}

bool ExportLineReader::element(JsonReader& json, Token first, size_t at, CellTarget& target) {
  if (is_scalar(first)) return target.cell(column_, at, {}, cell_of(json, first)), true;
  if (first != Token::object) return json.skip(first);
  return each_member(json, [&] {
    assign_lower(member_, json.text());
    const Token token = json.next();
    if (!is_scalar(token)) return json.skip(token);
    return target.cell(column_, at, member_, cell_of(json, token)), true;
  });
}

Result<std::string> PageReader::read(std::string_view page, CellTarget& target,
                                     const std::function<void()>& end_of_row) {
  JsonReader& json = text_.start(page);
  std::string next_page;
  const bool whole = json.next() == Token::object && each_member(json, [&] {
                       const bool are_rows = json.text() == "rows", is_token = json.text() == "pageToken";
                       const Token first = json.next();
                       if (are_rows && first == Token::array) return rows(json, target, end_of_row);
                       if (is_token && first == Token::string) next_page.assign(json.text());
                       return json.skip(first);
                     });
  if (!whole || json.next() != Token::end)
    return Error{Code::invalid, "an answer of BigQuery cannot be read: " + json.error().what, "", "try again"};
  return next_page;
}

bool PageReader::rows(JsonReader& json, CellTarget& target, const std::function<void()>& end_of_row) {
  return each_element(json, [&](size_t, Token token) {
    if (token != Token::object) return json.skip(token);
    const bool good = fields(json, [&](size_t at, Token first) {
      return at < columns_.size() ? value(json, first, columns_[at], target) : json.skip(first);
    });
    if (good) end_of_row();
    return good;
  });
}

// {"f": [{"v": …}, …]}, whose opening bracket was read.
bool PageReader::fields(JsonReader& json, const std::function<bool(size_t, Token)>& value) {
  return each_member(json, [&] {
    const bool are_fields = json.text() == "f";
    const Token first = json.next();
    if (!are_fields || first != Token::array) return json.skip(first);
    return each_element(json, [&](size_t at, Token token) {
      if (token != Token::object) return json.skip(token);
      return each_member(json, [&] {
        const bool is_value = json.text() == "v";
        const Token start = json.next();
        return is_value ? value(at, start) : json.skip(start);
      });
    });
  });
}

// A scalar, or a list of {"v": …}.
bool PageReader::value(JsonReader& json, Token first, const PageColumn& column, CellTarget& target) {
  if (first != Token::array) return scalar(json, first, column, 0, target);
  return each_element(json, [&](size_t at, Token token) {
    if (token != Token::object) return json.skip(token);
    return each_member(json, [&] {
      const bool is_value = json.text() == "v";
      const Token start = json.next();
      return is_value ? scalar(json, start, column, at, target) : json.skip(start);
    });
  });
}

// A scalar, or a record: {"f": [{"v": …}, …]}.
bool PageReader::scalar(JsonReader& json, Token first, const PageColumn& column, size_t at, CellTarget& target) {
  if (is_scalar(first)) return target.cell(column.name, at, {}, cell_of(json, first)), true;
  if (first != Token::object || column.members.empty()) return json.skip(first);
  return fields(json, [&](size_t member, Token token) {
    if (member >= column.members.size() || !is_scalar(token)) return json.skip(token);
    return target.cell(column.name, at, column.members[member], cell_of(json, token)), true;
  });
}

}  // namespace tacho
