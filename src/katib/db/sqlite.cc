#include "katib/db/sqlite.h"

namespace tacho {
namespace {

// Another process may write for a while (a second manager, the sqlite3 shell).
constexpr int kBusyMs = 10'000;

}  // namespace

void SqliteStatement::bind(int at, std::string_view text) {
  // A null pointer would bind NULL.
  sqlite3_bind_text64(handle_.get(), at, text.data() != nullptr ? text.data() : "", text.size(), SQLITE_STATIC,
                      SQLITE_UTF8);
}

std::string_view SqliteStatement::text(int column) {
  const unsigned char* data = sqlite3_column_text(handle_.get(), column);
  if (data == nullptr) return {};
  return {reinterpret_cast<const char*>(data), static_cast<size_t>(sqlite3_column_bytes(handle_.get(), column))};
}

Result<std::unique_ptr<SqliteConnection>> SqliteConnection::open(const std::string& file, bool writable) {
  sqlite3* handle = nullptr;
  const int flags = writable ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  const int code = sqlite3_open_v2(file.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  std::unique_ptr<SqliteConnection> connection(new SqliteConnection(handle, file));
  if (code != SQLITE_OK) return connection->error("cannot open the database");
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, kBusyMs);
  return connection;
}

Result<SqliteStatement> SqliteConnection::prepare(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(handle_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK) {
    return error("the database refuses a statement");
  }
  return SqliteStatement(statement);
}

Status SqliteConnection::execute(const char* sql) {
  if (sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK)
    return error("the database refuses a statement");
  return ok();
}

Status SqliteConnection::still_there() const {
  int moved = 0;
  sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  if (moved == 0) return ok();
  return Error{Code::io, "the database file was moved or deleted while in use", file_, "put it back and start again"};
}

Error SqliteConnection::error(const char* what) const {
  const int code = handle_ ? sqlite3_errcode(handle_.get()) & 0xff : SQLITE_NOMEM;
  const std::string reason = handle_ ? sqlite3_errmsg(handle_.get()) : "out of memory";
  switch (code) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {Code::io, "the database is locked by another program", file_,
              "end that program's transaction, or it is tried again"};
    case SQLITE_FULL:
      return {Code::io, "no room left for the database", file_,
              "free space on its disk; the call may then be repeated"};
    case SQLITE_CANTOPEN:
      return {Code::not_available, what, file_, reason + "; does the folder exist, and may this user write there?"};
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return {Code::denied, "the database may not be written", file_,
              "give this user the right to write to the file and its folder"};
    case SQLITE_NOTADB: return {Code::io, "the file is no SQLite database", file_, "name another file with --store"};
    case SQLITE_CORRUPT:
      return {Code::io, "the database is damaged", file_, reason + "; restore it, or try the sqlite3 shell's .recover"};
    case SQLITE_TOOBIG:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH: return {Code::invalid, what, file_, reason};
    default: return {Code::io, what, file_, reason};
  }
}

}  // namespace tacho
