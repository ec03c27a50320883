#include "query/samples.h"

#include <new>

#include "os/file.h"
#include "probe/all_metrics.h"
#include "query/run_list.h"
#include "query/sample_file.h"
#include "query/schema.h"

namespace tacho {
namespace {

enum Way : int { kAllRuns = 0, kOneRun = 1 };

struct SamplesTable : sqlite3_vtab {
  const std::string* store_dir = nullptr;
  std::vector<std::string_view> names;  // of the columns behind `run`
};

struct SamplesCursor : sqlite3_vtab_cursor {
  explicit SamplesCursor(const SamplesTable& of) : sqlite3_vtab_cursor{}, table(of), file(of.names) {}
  const SamplesTable& table;
  SampleFile file;
  std::vector<std::string> runs;  // still to be read, the next one last
  std::string run;
  int64_t row = 0;
  bool ended = true;

  // The next row of this file, else of the next one that has any: a run that is gone meanwhile has none.
  void advance() {
    for (++row; !file.next(); file.open(*table.store_dir + "/" + run + "/metrics.csv")) {
      ended = runs.empty();
      if (ended) return;
      run = std::move(runs.back());
      runs.pop_back();
    }
  }
};

int connect(sqlite3* handle, void* store_dir, int, const char* const*, sqlite3_vtab** made, char** error) {
  const int code = sqlite3_declare_vtab(handle, create_samples_statement().c_str());
  if (code != SQLITE_OK) {
    *error = sqlite3_mprintf("%s", sqlite3_errmsg(handle));
    return code;
  }
  auto table = std::make_unique<SamplesTable>();
  table->store_dir = static_cast<const std::string*>(store_dir);
  for (const Metric& metric : all_metrics()) table->names.push_back(metric.column->name);
  sqlite3_vtab_config(handle, SQLITE_VTAB_INNOCUOUS);
  *made = table.release();
  return SQLITE_OK;
}

int disconnect(sqlite3_vtab* table) {
  delete static_cast<SamplesTable*>(table);
  return SQLITE_OK;
}

// A name costs one file, everything else the whole store. An IN is a name at a time. A name that is compared in another
// way (COLLATE NOCASE) may be any folder's.
int best_index(sqlite3_vtab*, sqlite3_index_info* info) {
  info->idxNum = kAllRuns;
  info->estimatedCost = 1e9;
  info->estimatedRows = 100'000'000;
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    if (constraint.iColumn != 0 || constraint.op != SQLITE_INDEX_CONSTRAINT_EQ || constraint.usable == 0) continue;
    if (sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") != 0) continue;
    info->aConstraintUsage[i].argvIndex = 1;
    info->idxNum = kOneRun;
    info->estimatedCost = 1000;
    info->estimatedRows = 1000;
    break;
  }
  return SQLITE_OK;
}

int open_cursor(sqlite3_vtab* table, sqlite3_vtab_cursor** made) {
  *made = new (std::nothrow) SamplesCursor(*static_cast<SamplesTable*>(table));
  return *made != nullptr ? SQLITE_OK : SQLITE_NOMEM;
}

int close_cursor(sqlite3_vtab_cursor* cursor) {
  delete static_cast<SamplesCursor*>(cursor);
  return SQLITE_OK;
}

int filter(sqlite3_vtab_cursor* base, int way, const char*, int, sqlite3_value** values) {
  auto& cursor = *static_cast<SamplesCursor*>(base);
  cursor.runs.clear();
  cursor.file.close();
  cursor.row = -1;
  cursor.ended = false;
  if (way == kOneRun) {
    const auto* name = reinterpret_cast<const char*>(sqlite3_value_text(values[0]));
    const bool is_run =
        name != nullptr && is_run_name(name) && file_exists(*cursor.table.store_dir + "/" + name + "/run.json");
    if (is_run) cursor.runs.emplace_back(name);
  } else {
    auto listed = list_run_files(*cursor.table.store_dir);
    if (!listed) {
      base->pVtab->zErrMsg = sqlite3_mprintf("%s", listed.error().message().c_str());
      return SQLITE_ERROR;
    }
    for (auto run = listed->rbegin(); run != listed->rend(); ++run) cursor.runs.push_back(std::move(run->name));
  }
  cursor.advance();
  return SQLITE_OK;
}

int next(sqlite3_vtab_cursor* cursor) {
  static_cast<SamplesCursor*>(cursor)->advance();
  return SQLITE_OK;
}

int is_at_end(sqlite3_vtab_cursor* cursor) { return static_cast<SamplesCursor*>(cursor)->ended ? 1 : 0; }

int column(sqlite3_vtab_cursor* base, sqlite3_context* context, int index) {
  const auto& cursor = *static_cast<SamplesCursor*>(base);
  if (index == 0) {
    sqlite3_result_text64(context, cursor.run.data(), cursor.run.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    return SQLITE_OK;
  }
  const Cell cell = cursor.file.cell(static_cast<size_t>(index) - 1);
  if (const auto* whole = std::get_if<int64_t>(&cell)) sqlite3_result_int64(context, *whole);
  else if (const auto* real = std::get_if<double>(&cell)) sqlite3_result_double(context, *real);
  return SQLITE_OK;  // otherwise it is NULL
}

int row_id(sqlite3_vtab_cursor* cursor, sqlite3_int64* id) {
  *id = static_cast<SamplesCursor*>(cursor)->row;
  return SQLITE_OK;
}

// Without xCreate: it is there by its name alone, and nobody can make a second one.
constexpr sqlite3_module kModule = {.iVersion = 0,
                                    .xCreate = nullptr,
                                    .xConnect = connect,
                                    .xBestIndex = best_index,
                                    .xDisconnect = disconnect,
                                    .xDestroy = nullptr,
                                    .xOpen = open_cursor,
                                    .xClose = close_cursor,
                                    .xFilter = filter,
                                    .xNext = next,
                                    .xEof = is_at_end,
                                    .xColumn = column,
                                    .xRowid = row_id,
                                    .xUpdate = nullptr,
                                    .xBegin = nullptr,
                                    .xSync = nullptr,
                                    .xCommit = nullptr,
                                    .xRollback = nullptr,
                                    .xFindFunction = nullptr,
                                    .xRename = nullptr,
                                    .xSavepoint = nullptr,
                                    .xRelease = nullptr,
                                    .xRollbackTo = nullptr,
                                    .xShadowName = nullptr};

}  // namespace

Status add_samples(const Database& database, const std::string& store_dir) {
  auto* store = const_cast<std::string*>(&store_dir);
  if (sqlite3_create_module_v2(database.get(), "samples", &kModule, store, nullptr) != SQLITE_OK)
    return database.error("cannot make the table samples");
  // It declares itself when it is first named, which is a CREATE TABLE and not for the guard to see. So do SQLite's own
  // tables of JSON, for the column `json`.
  if (!database.prepare("SELECT run FROM samples")) return database.error("cannot make the table samples");
  for (const char* table : {"json_each", "json_tree"})
    if (!database.prepare(std::string("SELECT 1 FROM ") + table)) return database.error("cannot make a table of JSON");
  return ok();
}

}  // namespace tacho
