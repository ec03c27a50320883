// A SQLite connection and its statements, owned. An Error says what to do: the file is locked, full, no database. A
// connection is used by one thread at a time. Relies on SQLite 3.37 (WAL).
#pragma once
#include <sqlite3.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tacho {

class SqliteStatement {
 public:
  SqliteStatement() = default;
  SqliteStatement(sqlite3_stmt* handle) : handle_(handle, sqlite3_finalize) {}

  // The texts must live until the statement has run: they are not copied.
  void bind(int at, std::string_view text);
  int step() { return sqlite3_step(handle_.get()); }
  void reset() { sqlite3_reset(handle_.get()); }
  std::string_view text(int column);
  sqlite3* database() const { return sqlite3_db_handle(handle_.get()); }

 private:
  std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> handle_{nullptr, sqlite3_finalize};
};

class SqliteConnection {
 public:
  // Opened for writing (made when missing) or for reading only.
  static Result<std::unique_ptr<SqliteConnection>> open(const std::string& file, bool writable);

  Result<SqliteStatement> prepare(const char* sql);
  Status execute(const char* sql);
  // Whether it was deleted or renamed: what is written now would be lost with the last descriptor.
  Status still_there() const;
  int code() const { return sqlite3_errcode(handle_.get()); }     // of the last call
  int changes() const { return sqlite3_changes(handle_.get()); }  // rows of the last INSERT
  bool in_transaction() const { return sqlite3_get_autocommit(handle_.get()) == 0; }
  // How the last call on this connection ended, for a person.
  Error error(const char* what) const;

 private:
  SqliteConnection(sqlite3* handle, std::string file) : handle_(handle, sqlite3_close_v2), file_(std::move(file)) {}
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> handle_;
  std::string file_;
};

}  // namespace tacho
