// A SQLite database and its statements, owned. Used by one thread; interrupt() alone may be called from a signal's
// handler. Relies on SQLite 3.38 (positions of errors).
#pragma once
#include <sqlite3.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "query/cells.h"

namespace tacho {

class Prepared {
 public:
  Prepared() = default;
  explicit Prepared(sqlite3_stmt* handle) : handle_(handle, sqlite3_finalize) {}
  explicit operator bool() const { return handle_ != nullptr; }

  // Texts must live until the statement has run: they are not copied. From the first parameter on.
  void bind(std::span<const Cell> cells);
  int step() { return sqlite3_step(handle_.get()); }
  // For statements without rows.
  int run(std::span<const Cell> cells);
  bool is_read_only() const { return sqlite3_stmt_readonly(handle_.get()) != 0; }
  sqlite3_stmt* get() const { return handle_.get(); }
  std::string_view text(int column) const;
  int64_t integer(int column) const { return sqlite3_column_int64(handle_.get(), column); }

 private:
  std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> handle_{nullptr, sqlite3_finalize};
};

class Database {
 public:
  Database() = default;
  // An empty path: one of its own, in memory as far as that goes and then in a file that nobody sees.
  static Result<Database> open(const std::string& path, int flags);

  sqlite3* get() const { return handle_.get(); }
  int execute(const std::string& sql) const;  // SQLITE_OK, or what was wrong
  Prepared prepare(std::string_view sql, const char** tail = nullptr) const;
  int64_t value(const char* sql) const;  // of the first row; 0: none
  Error error(std::string_view what) const;
  // The file is no database of ours, or broken: nothing that another user of it causes.
  bool is_damaged() const;

 private:
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> handle_{nullptr, sqlite3_close_v2};
  std::string path_;
};

}  // namespace tacho
