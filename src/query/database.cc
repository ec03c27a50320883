#include "query/database.h"

namespace tacho {
namespace {

// Another query may bring the same file up to date meanwhile.
constexpr int kBusyMs = 3000;

}  // namespace

void Prepared::bind(std::span<const Cell> cells) {
  sqlite3_stmt* to = handle_.get();
  int at = 0;
  for (const Cell& cell : cells) {
    ++at;
    if (const auto* whole = std::get_if<int64_t>(&cell)) sqlite3_bind_int64(to, at, *whole);
    else if (const auto* real = std::get_if<double>(&cell)) sqlite3_bind_double(to, at, *real);
    else if (const auto* text = std::get_if<std::string_view>(&cell))
      sqlite3_bind_text64(to, at, text->data() != nullptr ? text->data() : "", text->size(), SQLITE_STATIC,
                          SQLITE_UTF8);
    else sqlite3_bind_null(to, at);
  }
}

int Prepared::run(std::span<const Cell> cells) {
  bind(cells);
  step();
  return sqlite3_reset(handle_.get());
}

std::string_view Prepared::text(int column) const {
  const unsigned char* data = sqlite3_column_text(handle_.get(), column);
  if (data == nullptr) return {};
  return {reinterpret_cast<const char*>(data), static_cast<size_t>(sqlite3_column_bytes(handle_.get(), column))};
}

Result<Database> Database::open(const std::string& path, int flags) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database;
  database.handle_.reset(handle);
  database.path_ = path;
  if (code != SQLITE_OK) return database.error("cannot open the database");
  sqlite3_busy_timeout(handle, kBusyMs);
  return database;
}

int Database::execute(const std::string& sql) const {
  return sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr);
}

Prepared Database::prepare(std::string_view sql, const char** tail) const {
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()), 0, &statement, tail);
  return Prepared(statement);
}

int64_t Database::value(const char* sql) const {
  Prepared statement = prepare(sql);
  return statement && statement.step() == SQLITE_ROW ? statement.integer(0) : 0;
}

Error Database::error(std::string_view what) const {
  return {Code::io, std::string(what), path_, handle_ ? sqlite3_errmsg(handle_.get()) : "out of memory"};
}

bool Database::is_damaged() const {
  const int code = sqlite3_errcode(handle_.get()) & 0xff;
  return code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_FORMAT || code == SQLITE_ERROR ||
         code == SQLITE_SCHEMA || code == SQLITE_CONSTRAINT;
}

}  // namespace tacho
