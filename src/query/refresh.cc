#include "query/refresh.h"

#include <array>

#include "base/log.h"
#include "base/units.h"
#include "os/clock.h"
#include "query/interrupt.h"
#include "query/run_readers.h"
#include "query/schema.h"

namespace tacho {
namespace {

constexpr int64_t kApplicationId = 0x74616368;  // "tach": whose database it is
// Two changes within the clock of a file system look like one: what is younger is looked at again.
constexpr int64_t kUnsettledNs = 2 * kNsPerSec;
constexpr int64_t kAgain = -1;  // in place of a time: never equal to one

struct Known {
  std::string name;
  RunStamp stamp;
  uint32_t parts;
};

struct Plan {
  std::vector<ListedRun> read;    // by name
  std::vector<std::string> gone;  // and what is not to be shown any longer
};

Result<std::vector<Known>> known_runs(const Database& database) {
  std::vector<Known> runs;
  Prepared rows = database.prepare("SELECT run, size, changed_ns, parts FROM seen ORDER BY run");
  int code = rows ? rows.step() : SQLITE_ERROR;
  for (; code == SQLITE_ROW; code = rows.step())
    runs.push_back(
        {std::string(rows.text(0)), {rows.integer(1), rows.integer(2)}, static_cast<uint32_t>(rows.integer(3))});
  if (code != SQLITE_DONE) return database.error("the cache is damaged");
  return runs;
}

// Both are sorted by name.
Plan compare_runs(std::vector<ListedRun>& listed, const std::vector<Known>& known, uint32_t parts) {
  Plan plan;
  size_t at = 0;
  for (ListedRun& run : listed) {
    while (at < known.size() && known[at].name < run.name) plan.gone.push_back(known[at++].name);
    const Known* before = at < known.size() && known[at].name == run.name ? &known[at++] : nullptr;
    const bool same = before != nullptr && before->stamp.size == run.stamp.size &&
                      before->stamp.changed_ns == run.stamp.changed_ns && (before->parts & parts) == parts;
    if (!same) plan.read.push_back(std::move(run));
  }
  while (at < known.size()) plan.gone.push_back(known[at++].name);
  return plan;
}

// The statements that store a run.
class RunWriter {
 public:
  RunWriter(const Database& database, uint32_t parts, bool is_new) : parts_(parts), is_new_(is_new) {
    for (const StoredTable& table : stored_tables()) {
      removals_.push_back(database.prepare("DELETE FROM " + std::string(table.name) + " WHERE run = ?"));
      std::string places;
      for (const TableColumn& column : table.columns)
        if (column.function.empty()) places += places.empty() ? "?" : ",?";
      inserts_.push_back(database.prepare("INSERT INTO " + std::string(table.name) + " VALUES (" + places + ")"));
    }
    seen_ = database.prepare("INSERT OR REPLACE INTO seen VALUES (?,?,?,?)");
    forget_ = database.prepare("DELETE FROM seen WHERE run = ?");
  }

  bool remove(std::string_view name) {
    const std::array<Cell, 1> run{name};
    bool well = forget_.run(run) == SQLITE_OK;
    for (Prepared& removal : removals_) well = well && removal.run(run) == SQLITE_OK;
    return well;
  }
  bool put(const RunBatch& batch, const RunBatch::Part& run) {
    const std::string& name = run.listed->name;
    bool well = is_new_ || remove(name);
    for (const RunBatch::Row& row : batch.rows(run))
      well = well && inserts_[row.table].run(batch.cells(row)) == SQLITE_OK;
    // A run that goes on may end without a word: its lock tells, not run.json.
    const bool settled = !run.runs_on && system_clock().realtime_ns() - run.stamp.changed_ns > kUnsettledNs;
    const int64_t changed_ns = settled ? run.stamp.changed_ns : kAgain;
    const std::array<Cell, 4> seen{name, run.stamp.size, changed_ns, int64_t{parts_}};
    return well && seen_.run(seen) == SQLITE_OK;
  }

 private:
  uint32_t parts_;
  bool is_new_;
  std::vector<Prepared> removals_, inserts_;  // by the order of stored_tables()
  Prepared seen_, forget_;
};

Refreshed how_it_failed(const Database& database) {
  if (is_interrupted()) return Refreshed::interrupted;
  return database.is_damaged() ? Refreshed::damaged : Refreshed::refused;
}

bool write_runs(const Database& database, const std::string& store_dir, const Plan& plan, uint32_t parts, bool is_new) {
  RunWriter writer(database, parts, is_new);
  for (const std::string& name : plan.gone)
    if (!writer.remove(name)) return false;
  RunReaders readers(store_dir, plan.read, parts);
  for (RunBatch batch = readers.next(); !batch.parts().empty(); batch = readers.next()) {
    if (is_interrupted()) return false;
    for (const RunBatch::Part& run : batch.parts()) {
      if (!run.status) log::warn(run.status.error());  // one that is gone meanwhile says nothing
      if (run.status ? !writer.put(batch, run) : !is_new && !writer.remove(run.listed->name)) return false;
    }
  }
  return true;
}

}  // namespace

Status make_tables(const Database& database, const std::string& store_dir) {
  std::string sql =
      "CREATE TABLE seen(run TEXT PRIMARY KEY, size INTEGER, changed_ns INTEGER, parts INTEGER) WITHOUT ROWID;"
      "CREATE TABLE about(store TEXT);";
  for (const StoredTable& table : stored_tables()) sql += create_statement(table);
  sql += "PRAGMA application_id = " + std::to_string(kApplicationId) +
         ";PRAGMA user_version = " + std::to_string(kSchemaVersion);
  if (database.execute(sql) != SQLITE_OK) return database.error("cannot make the tables");
  Prepared about = database.prepare("INSERT INTO about VALUES (?)");
  const std::array<Cell, 1> store{std::string_view(store_dir)};
  if (!about || about.run(store) != SQLITE_OK) return database.error("cannot make the tables");
  return ok();
}

bool has_tables(const Database& database, const std::string& store_dir) {
  if (database.value("PRAGMA application_id") != kApplicationId) return false;
  if (database.value("PRAGMA user_version") != kSchemaVersion) return false;
  Prepared about = database.prepare("SELECT store FROM about");
  if (!about || about.step() != SQLITE_ROW || about.text(0) != store_dir) return false;
  for (const StoredTable& table : stored_tables())
    if (!database.prepare("SELECT run FROM " + std::string(table.name))) return false;
  return true;
}

Result<Refreshed> refresh(const Database& database, const std::string& store_dir, uint32_t parts, bool is_new) {
  auto listed = list_run_files(store_dir, !is_new);  // what is new is read in any case
  if (!listed) return listed.error();
  const auto known = known_runs(database);
  if (!known) return how_it_failed(database);
  const Plan plan = compare_runs(*listed, *known, parts);
  if (plan.read.empty() && plan.gone.empty()) return Refreshed::done;
  // A run that is read gets the rows of every table that anybody asked for before.
  for (const Known& run : *known) parts |= run.parts;
  if (database.execute("BEGIN IMMEDIATE") != SQLITE_OK) return how_it_failed(database);
  if (write_runs(database, store_dir, plan, parts, is_new) && database.execute("COMMIT") == SQLITE_OK)
    return Refreshed::done;
  const Refreshed failure = how_it_failed(database);
  database.execute("ROLLBACK");
  return failure;
}

}  // namespace tacho
