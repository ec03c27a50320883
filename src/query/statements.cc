#include "query/statements.h"

#include <cerrno>

#include "base/log.h"
#include "base/text.h"
#include "os/file.h"
#include "query/interrupt.h"

namespace tacho {
namespace {

// Goes through the statements; comments and blanks between them are none.
class Statements {
 public:
  Statements(const Database& database, std::string_view sql) : database_(database), sql_(sql) {}
  // Nothing at the end, or when failed().
  Prepared next() {
    while (at_ < sql_.size()) {
      const char* tail = nullptr;
      Prepared statement = database_.prepare(sql_.substr(at_), &tail);
      if (!statement && sqlite3_errcode(database_.get()) != SQLITE_OK) {
        failed_ = true;
        return {};
      }
      at_ = static_cast<size_t>(tail - sql_.data());
      if (statement) return statement;
    }
    return {};
  }
  bool failed() const { return failed_; }

  // SQLite's words, and where in the text.
  Error error() const {
    Error error{Code::invalid, std::string("SQL error: ") + sqlite3_errmsg(database_.get()), "", ""};
    const int offset = sqlite3_error_offset(database_.get());
    if ((sqlite3_errcode(database_.get()) & 0xff) == SQLITE_AUTH)
      error.hint = "the runs are only read: SELECT, and no file, PRAGMA or ATTACH";
    if (offset < 0) return error;
    const size_t at = at_ + static_cast<size_t>(offset);
    const std::string_view before = sql_.substr(0, at);
    const size_t lines = static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
    const size_t line_start = lines == 0 ? 0 : before.rfind('\n') + 1;
    error.hint = "at position " + std::to_string(at + 1) + ", line " + std::to_string(lines + 1) + ", column " +
                 std::to_string(at - line_start + 1) + ": " + valid_utf8(sql_.substr(at, 40));
    return error;
  }

 private:
  const Database& database_;
  std::string_view sql_;
  size_t at_ = 0;
  bool failed_ = false;
};

Answer how_it_ended(const Database& database, bool printed) {
  if (is_interrupted()) return Answer::interrupted;
  const int code = sqlite3_errcode(database.get()) & 0xff;
  if (!printed && (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)) return Answer::damaged;
  log::error(std::string("SQL error: ") + sqlite3_errmsg(database.get()) +
             (code == SQLITE_NOMEM ? " (a query may use 40 MiB; ask for less at a time)" : ""));
  return Answer::failed;
}

}  // namespace

std::optional<Error> check_statements(const Database& database, const std::string& sql) {
  Statements statements(database, sql);
  bool any = false;
  while (const Prepared statement = statements.next()) {
    any = true;
    if (!statement.is_read_only())  // VACUUM and what the authorizer is not asked about
      return Error{Code::denied, "SQL error: not authorized", "", "a query only reads"};
  }
  if (statements.failed()) return statements.error();
  if (!any) return Error{Code::invalid, "there is no statement in it", "", "tacho query --schema prints the tables"};
  return std::nullopt;
}

Answer run_statements(const Database& database, const std::string& sql, RowFormat format) {
  Statements statements(database, sql);
  Prepared statement = statements.next();
  while (statement) {
    Prepared behind = statements.next();
    if (behind) {  // its rows are asked for by nobody, its errors are
      int code;
      while ((code = statement.step()) == SQLITE_ROW) continue;
      if (code != SQLITE_DONE) return how_it_ended(database, false);
      statement = std::move(behind);
      continue;
    }
    const auto output = make_output(format);
    int code = statement.step();
    if (code != SQLITE_ROW && code != SQLITE_DONE) return how_it_ended(database, false);
    output->begin(statement.get());
    for (; code == SQLITE_ROW; code = statement.step()) output->row(statement.get());
    if (code != SQLITE_DONE) return how_it_ended(database, true);
    output->end();
    break;
  }
  if (output_is_written()) return Answer::given;
  if (is_interrupted()) return Answer::interrupted;
  log::error(system_error("cannot write", "stdout", errno).message());
  return Answer::failed;
}

}  // namespace tacho
