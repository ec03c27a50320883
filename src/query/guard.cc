#include "query/guard.h"

#include <array>
#include <string>

#include "query/schema.h"

namespace tacho {
namespace {

// The program, its buffers and this stay below 64 MiB. Sorting goes to files beyond the cache.
constexpr int64_t kSoftHeapBytes = int64_t{24} << 20, kHardHeapBytes = int64_t{40} << 20;
constexpr int kLongestValue = 8 << 20;

// They read or write files or load code, in builds of SQLite that have them.
constexpr auto kRefusedFunctions = std::to_array<std::string_view>(
    {"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "lsdir", "fsdir", "zipfile", "sqlite_log"});

int judge(void* parts, int action, const char* first, const char* second, const char*, const char*) {
  const std::string_view one = first != nullptr ? first : "", two = second != nullptr ? second : "";
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_RECURSIVE: return SQLITE_OK;
    case SQLITE_FUNCTION:
      for (const std::string_view refused : kRefusedFunctions)
        if (sqlite3_stricmp(std::string(two).c_str(), std::string(refused).c_str()) == 0) return SQLITE_DENY;
      return SQLITE_OK;
    case SQLITE_READ:
      for (const StoredTable& table : stored_tables())
        if (one == table.name) *static_cast<uint32_t*>(parts) |= table.part;
      return SQLITE_OK;
    default: return SQLITE_DENY;  // every write, ATTACH, PRAGMA, transactions, whatever comes in later versions
  }
}

}  // namespace

void bound_memory() {
  sqlite3_soft_heap_limit64(kSoftHeapBytes);
  sqlite3_hard_heap_limit64(kHardHeapBytes);
}

void guard(const Database& database, uint32_t* parts) {
  sqlite3* handle = database.get();
  sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kLongestValue);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
  sqlite3_set_authorizer(handle, judge, parts);
}

}  // namespace tacho
