#include <mutex>

#include "katib/db/pool.h"
#include "katib/db/sqlite.h"
#include "katib/db/store.h"
#include "katib/model/time_stamp.h"

namespace tacho {
namespace {

// The columns of the service's table elsewhere. Time is text of one length in UTC, so that it sorts and compares as
// it stands.
constexpr const char* kSqliteTable =
    "CREATE TABLE IF NOT EXISTS observation_logs ("
    "trial_name VARCHAR(255) NOT NULL, id INTEGER PRIMARY KEY, time TEXT, metric_name VARCHAR(255) NOT NULL, value "
    "TEXT NOT NULL);"
    "CREATE INDEX IF NOT EXISTS observation_logs_by_metric ON observation_logs (trial_name, metric_name, time);"
    "CREATE TABLE IF NOT EXISTS tacho_reports (trial_name TEXT NOT NULL, report_id TEXT NOT NULL, PRIMARY KEY "
    "(trial_name, report_id)) "
    "WITHOUT ROWID";
constexpr const char* kSqliteRemember = "INSERT OR IGNORE INTO tacho_reports (trial_name, report_id) VALUES (?1, ?2)";
constexpr const char* kInsert =
    "INSERT INTO observation_logs (trial_name, time, metric_name, value) VALUES (?1, ?2, ?3, ?4)";
constexpr const char* kSqliteCheck = "SELECT trial_name, id, time, metric_name, value FROM observation_logs LIMIT 1";

// The writing connection with its prepared insert: one for the whole store, since SQLite has one writer at a time.
struct WriteSide {
  std::unique_ptr<SqliteConnection> connection;
  SqliteStatement insert, remember;
  bool knows_ids = false;
  std::mutex mutex;
};

class SqliteBatch final : public StoreBatch {
 public:
  SqliteBatch(WriteSide& writer, std::unique_lock<std::mutex> lock, std::string trial)
      : writer_(writer), lock_(std::move(lock)), trial_(std::move(trial)) {}
  ~SqliteBatch() override {
    if (!writer_.connection->in_transaction()) return;
    writer_.insert.reset();
    (void)writer_.connection->execute("ROLLBACK");
  }
  Status add(int64_t time_us, std::string_view metric, std::string_view value) override {
    const TimeStampText time(time_us);
    SqliteStatement& insert = writer_.insert;
    insert.bind(1, trial_);
    insert.bind(2, time.sortable());
    insert.bind(3, metric);
    insert.bind(4, value);
    const int code = insert.step();
    Status status = ok();
    if (code != SQLITE_DONE) status = writer_.connection->error("cannot store a row");
    insert.reset();
    return status;
  }
  Status commit() override { return writer_.connection->execute(known_ ? "ROLLBACK" : "COMMIT"); }
  bool known() const override { return known_; }
  Status remember(const std::string& id) {
    SqliteStatement& statement = writer_.remember;
    statement.bind(1, trial_);
    statement.bind(2, id);
    const int code = statement.step();
    Status status = ok();
    if (code != SQLITE_DONE) status = writer_.connection->error("cannot remember a report");
    statement.reset();
    known_ = status && writer_.connection->changes() == 0;
    return status;
  }

 private:
  bool known_ = false;
  WriteSide& writer_;
  std::unique_lock<std::mutex> lock_;
  std::string trial_;
};

// One text for each of the eight combinations of filters, so that the index is used.
std::string select(const LogQuery& query) {
  std::string sql = "SELECT time, metric_name, value FROM observation_logs WHERE trial_name = ?1";
  if (!query.metric.empty()) sql += " AND metric_name = ?2";
  if (query.from_us) sql += " AND time >= ?3";
  if (query.to_us) sql += " AND time <= ?4";
  return sql + " ORDER BY time, id";
}

class SqliteStore final : public ObservationStore {
 public:
  SqliteStore(std::string file, bool writable)
      : file_(std::move(file)), readers_([this, writable] { return open_reader(writable); }) {}

  Status start(TableInit init) {
    const bool writable = init != TableInit::read_only;
    Result<std::unique_ptr<SqliteConnection>> connection = SqliteConnection::open(file_, writable);
    if (!connection) return connection.error();
    writer_.connection = std::move(*connection);
    if (writable) {
      // FULL: what was acknowledged is on the disk. The limit gives back the log's room after a very large report.
      Status status = writer_.connection->execute(
          "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA journal_size_limit=67108864");
      if (!status) return status;
    }
    if (init == TableInit::create) {
      Status status = writer_.connection->execute(kSqliteTable);
      if (!status) return status;
    }
    if (const Result<SqliteStatement> check = writer_.connection->prepare(kSqliteCheck); !check) {
      if (writer_.connection->code() != SQLITE_ERROR) return check.error();
      return Error{Code::invalid, "the database has no table observation_logs as this service needs it", file_,
                   "name another file with --store"};
    }
    if (!writable) return ok();
    Result<SqliteStatement> insert = writer_.connection->prepare(kInsert);
    if (!insert) return insert.error();
    writer_.insert = std::move(*insert);
    // A table that somebody else made has none beside it.
    if (Result<SqliteStatement> remember = writer_.connection->prepare(kSqliteRemember)) {
      writer_.remember = std::move(*remember);
      writer_.knows_ids = true;
    }
    return ok();
  }

  bool knows_ids() const override { return writer_.knows_ids; }

  Result<std::unique_ptr<StoreBatch>> begin(const std::string& trial, const std::string& id) override {
    std::unique_lock lock(writer_.mutex);
    if (const Status there = writer_.connection->still_there(); !there) return there.error();
    // IMMEDIATE: whoever has to wait for another program waits here, not in the middle.
    const Status status = writer_.connection->execute("BEGIN IMMEDIATE");
    if (!status) return status.error();
    auto batch = std::make_unique<SqliteBatch>(writer_, std::move(lock), trial);
    if (writer_.knows_ids && !id.empty())
      if (const Status remembered = batch->remember(id); !remembered) return remembered.error();
    return std::unique_ptr<StoreBatch>(std::move(batch));
  }

  Status read(const LogQuery& query, const Visit& visit) override {
    const auto connection = readers_.take();
    if (!connection) return connection.error();
    Result<SqliteStatement> prepared = (*connection)->prepare(select(query).c_str());
    if (!prepared) return prepared.error();
    SqliteStatement& statement = *prepared;
    const TimeStampText from(query.from_us.value_or(0)), to(query.to_us.value_or(0));
    statement.bind(1, query.trial);
    if (!query.metric.empty()) statement.bind(2, query.metric);
    if (query.from_us) statement.bind(3, from.sortable());
    if (query.to_us) statement.bind(4, to.sortable());
    int code = statement.step();
    for (; code == SQLITE_ROW; code = statement.step()) {
      // A row that somebody else wrote without a time, or with one that is none, has no place in the order.
      if (const auto time_us = parse_sortable_us(statement.text(0)))
        visit(*time_us, statement.text(1), statement.text(2));
    }
    if (code != SQLITE_DONE) return (*connection)->error("cannot read the rows");
    return ok();
  }

  Status remove(const std::string& trial) override {
    const std::lock_guard lock(writer_.mutex);
    Result<SqliteStatement> statement =
        writer_.connection->prepare("DELETE FROM observation_logs WHERE trial_name = ?1");
    if (!statement) return statement.error();
    statement->bind(1, trial);
    if (statement->step() != SQLITE_DONE) return writer_.connection->error("cannot delete the rows");
    if (!writer_.knows_ids) return ok();
    Result<SqliteStatement> forget = writer_.connection->prepare("DELETE FROM tacho_reports WHERE trial_name = ?1");
    if (!forget) return forget.error();
    forget->bind(1, trial);
    if (forget->step() != SQLITE_DONE) return writer_.connection->error("cannot forget the reports");
    return ok();
  }

  // Not the writer's connection: a report of a million rows must not look like a store that hangs.
  Status probe() override {
    const auto connection = readers_.take();
    if (!connection) return connection.error();
    if (Status there = (*connection)->still_there(); !there) return there;
    Result<SqliteStatement> statement = (*connection)->prepare("SELECT 1 FROM observation_logs LIMIT 1");
    if (!statement) return statement.error();
    const int code = statement->step();
    if (code != SQLITE_ROW && code != SQLITE_DONE) return (*connection)->error("the database does not answer");
    return ok();
  }

  std::string description() const override { return "SQLite " + file_; }

 private:
  // Sorts in memory: a container may have no folder for temporary files.
  Result<std::unique_ptr<SqliteConnection>> open_reader(bool writable) {
    Result<std::unique_ptr<SqliteConnection>> connection = SqliteConnection::open(file_, writable);
    if (!connection) return connection;
    if (const Status set = (*connection)->execute("PRAGMA temp_store=MEMORY"); !set) return set.error();
    return connection;
  }

  const std::string file_;
  WriteSide writer_;
  Pool<SqliteConnection> readers_;
};

}  // namespace

Result<std::unique_ptr<ObservationStore>> open_sqlite_store(const std::string& file, TableInit init) {
  auto store = std::make_unique<SqliteStore>(file, init != TableInit::read_only);
  const Status status = store->start(init);
  if (!status) return status.error();
  return std::unique_ptr<ObservationStore>(std::move(store));
}

}  // namespace tacho
