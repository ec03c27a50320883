#include <algorithm>
#include <array>

#include "base/log.h"
#include "katib/db/pool.h"
#include "katib/db/postgres.h"
#include "katib/db/postgres_index.h"
#include "katib/db/store.h"
#include "katib/model/time_stamp.h"

namespace tacho {
namespace {

// The table as the service makes it elsewhere; the index is ours, and only asked for where it is missing.
constexpr const char* kPostgresTable =
    "CREATE TABLE IF NOT EXISTS observation_logs (trial_name VARCHAR(255) NOT NULL, id serial PRIMARY KEY, time "
    "TIMESTAMP(6), "
    "metric_name VARCHAR(255) NOT NULL, value TEXT NOT NULL)";
constexpr const char* kIndex =
    "CREATE INDEX IF NOT EXISTS observation_logs_by_metric ON observation_logs (trial_name, metric_name, time)";
constexpr const char* kReports =
    "CREATE TABLE IF NOT EXISTS tacho_reports (trial_name VARCHAR(255) NOT NULL, report_id VARCHAR(255) NOT NULL, "
    "PRIMARY KEY (trial_name, "
    "report_id))";
constexpr const char* kPostgresRemember =
    "INSERT INTO tacho_reports (trial_name, report_id) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING trial_name, "
    "report_id, ''";
constexpr const char* kHasReports =
    "SELECT (has_table_privilege('tacho_reports', 'INSERT') AND has_table_privilege('tacho_reports', 'SELECT') AND "
    "has_table_privilege('tacho_reports', 'DELETE'))::text, '', ''";
constexpr const char* kIsThere = "SELECT (to_regclass('observation_logs') IS NOT NULL)::text, '', ''";
constexpr const char* kPostgresCheck = "SELECT trial_name, id, time, metric_name, value FROM observation_logs LIMIT 0";
constexpr const char* kCopy = "COPY observation_logs (trial_name, time, metric_name, value) FROM STDIN (FORMAT binary)";

// The binary form of COPY: signature, flags, no extension; each row a count of fields and each field its length and
// bytes.
constexpr std::string_view kCopyHeader("PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0", 19);
constexpr std::string_view kCopyTrailer("\377\377", 2);
constexpr int64_t kPostgresEpochUs = 946'684'800'000'000;  // 2000-01-01 in µs since 1970: where its time stamps begin
constexpr int64_t kYearOneUs = -62'135'596'800'000'000;    // before it PostgreSQL counts years BC
constexpr size_t kChunkBytes = 256 * 1024;

template <class Int>
void put_big_endian(std::string& out, Int value) {
  for (int shift = static_cast<int>(sizeof(Int)) * 8 - 8; shift >= 0; shift -= 8)
    out += static_cast<char>(value >> shift);
}

void put_field(std::string& out, std::string_view text) {
  put_big_endian(out, static_cast<uint32_t>(text.size()));
  out += text;
}

using Connections = Pool<PostgresConnection>;

class PostgresBatch final : public StoreBatch {
 public:
  // In a transaction: begun together with the report's id.
  PostgresBatch(Connections::Lease connection, std::string trial, bool in_transaction, bool known)
      : connection_(std::move(connection)),
        trial_(std::move(trial)),
        bytes_(kCopyHeader),
        in_transaction_(in_transaction),
        known_(known) {}
  ~PostgresBatch() override {
    if (finished_) return;
    if (!known_) connection_->abandon_copy("the report was refused");
    const bool ended = !in_transaction_ || connection_->run("ROLLBACK", {});
    if (!ended || connection_->broken()) connection_.discard();
  }
  bool known() const override { return known_; }

  Status add(int64_t time_us, std::string_view metric, std::string_view value) override {
    if (time_us < kYearOneUs) return Error{Code::invalid, "PostgreSQL has no year 0", "time_stamp", ""};
    if (metric.find('\0') != metric.npos || value.find('\0') != value.npos || trial_.find('\0') != trial_.npos) {
      return Error{Code::invalid, "PostgreSQL stores no NUL byte", std::string(metric), ""};
    }
    put_big_endian(bytes_, uint16_t{4});
    put_field(bytes_, trial_);
    put_big_endian(bytes_, uint32_t{8});
    put_big_endian(bytes_, static_cast<uint64_t>(time_us - kPostgresEpochUs));
    put_field(bytes_, metric);
    put_field(bytes_, value);
    return bytes_.size() >= kChunkBytes ? flush() : ok();
  }

  Status commit() override {
    if (known_) return ok();
    bytes_ += kCopyTrailer;
    Status status = flush();
    if (!status) return status;
    finished_ = true;
    status = connection_->end_copy();
    if (in_transaction_) {
      const Status ended = connection_->run(status ? "COMMIT" : "ROLLBACK", {});
      if (!ended) connection_.discard();
      return status ? ended : status;
    }
    if (connection_->broken()) connection_.discard();
    return status;
  }

 private:
  Status flush() {
    Status status = connection_->send_copy(bytes_);
    bytes_.clear();
    return status;
  }

  Connections::Lease connection_;
  const std::string trial_;
  std::string bytes_;
  bool in_transaction_, known_;
  bool finished_ = false;
};

class PostgresStore final : public ObservationStore {
 public:
  explicit PostgresStore(PostgresPlace place)
      : place_(std::move(place)), connections_([this] { return PostgresConnection::open(place_); }), index_(place_) {}

  Status start(TableInit init) {
    bool wants_index = false;
    Status started = with_connection([&](PostgresConnection& connection) -> Status {
      Status created = init == TableInit::create ? create(connection) : ok();
      // A table of somebody else may be used without the right to make one.
      Status usable = connection.run(kPostgresCheck, {});
      if (usable && init != TableInit::read_only)
        knows_ids_ = connection.run(kHasReports, {}, [&](std::span<const std::string_view> columns) {
          may_remember_ = columns[0] == "true";
        }) && may_remember_;
      wants_index = usable && init == TableInit::create;
      return usable || created ? usable : created;
    });
    if (started && wants_index) index_.start();
    return started;
  }

  bool knows_ids() const override { return knows_ids_; }

  Result<std::unique_ptr<StoreBatch>> begin(const std::string& trial, const std::string& id) override {
    for (bool again = false;; again = true) {
      Result<Connections::Lease> connection = connections_.take();
      if (!connection) return connection.error();
      const bool remembers = knows_ids_ && !id.empty();
      bool known = false;
      Status status = remembers ? remember(**connection, trial, id, known) : ok();
      if (status && !known) status = (*connection)->start_copy(kCopy);
      if (status)
        return std::unique_ptr<StoreBatch>(new PostgresBatch(std::move(*connection), trial, remembers, known));
      if (drop_if_broken(*connection)) {
        if (again) return status.error();
        continue;
      }
      if (remembers && !(*connection)->run("ROLLBACK", {})) connection->discard();
      return status.error();
    }
  }

  Status read(const LogQuery& query, const Visit& visit) override {
    if (query.to_us && *query.to_us < kYearOneUs) return ok();
    // to_char: the same text whatever DateStyle the server has.
    std::string sql =
        "SELECT to_char(time, 'YYYY-MM-DD HH24:MI:SS.US'), metric_name, value FROM observation_logs WHERE trial_name = "
        "$1";
    std::vector<std::string> parameters = {query.trial};
    const auto filter = [&](const char* condition, const char* type, std::string_view value) {
      parameters.emplace_back(value);
      sql += condition + std::to_string(parameters.size()) + type;
    };
    if (!query.metric.empty()) filter(" AND metric_name = $", "", query.metric);
    if (query.from_us)
      filter(" AND time >= $", "::timestamp", TimeStampText(std::max(*query.from_us, kYearOneUs)).sortable());
    if (query.to_us) filter(" AND time <= $", "::timestamp", TimeStampText(*query.to_us).sortable());
    sql += " ORDER BY time, id";
    bool any = false;
    return with_connection(
        [&](PostgresConnection& connection) {
          return connection.run(sql.c_str(), parameters, [&](std::span<const std::string_view> columns) {
            any = true;
            if (const auto time_us = parse_sortable_us(columns[0])) visit(*time_us, columns[1], columns[2]);
          });
        },
        [&] { return !any; });
  }

  Status remove(const std::string& trial) override {
    const std::array parameters = {trial};
    return with_connection([&](PostgresConnection& connection) {
      Status removed = connection.run("DELETE FROM observation_logs WHERE trial_name = $1", parameters);
      return removed && knows_ids_ ? connection.run("DELETE FROM tacho_reports WHERE trial_name = $1", parameters)
                                   : removed;
    });
  }

  Status probe() override {
    return with_connection([](PostgresConnection& connection) { return connection.run("SELECT 1", {}); });
  }

  std::string description() const override { return "PostgreSQL " + place_.name; }

 private:
  // A new table is empty, so that its index is made at once; that of an old one takes its time (postgres_index.h).
  Status create(PostgresConnection& connection) {
    bool is_new = false;
    if (Status asked = connection.run(
            kIsThere, {}, [&](std::span<const std::string_view> columns) { is_new = columns[0] != "true"; });
        !asked)
      return asked;
    Status created = connection.run(kPostgresTable, {});
    if (created && is_new) created = connection.run(kIndex, {});
    if (const Status reports = connection.run(kReports, {}); !reports) log::debug(reports.error().message());
    return created;
  }

  // Whoever has the same id in hand is waited for: either it is stored then, or it is ours.
  Status remember(PostgresConnection& connection, const std::string& trial, const std::string& id, bool& known) {
    if (Status begun = connection.run("BEGIN", {}); !begun) return begun;
    const std::array parameters = {trial, id};
    known = true;
    return connection.run(kPostgresRemember, parameters, [&](std::span<const std::string_view>) { known = false; });
  }

  bool drop_if_broken(Connections::Lease& connection) {
    if (!connection->broken()) return false;
    connection.discard();
    connections_.clear();
    return true;
  }

  // A connection that the server closed while it was idle is noticed by its next use: done again once with a new one.
  // Only for what may be done twice.
  Status with_connection(const std::function<Status(PostgresConnection&)>& use,
                         const std::function<bool()>& may_repeat = {}) {
    for (bool again = false;; again = true) {
      Result<Connections::Lease> connection = connections_.take();
      if (!connection) return connection.error();
      Status status = use(**connection);
      if (!drop_if_broken(*connection) || again || status || (may_repeat && !may_repeat())) return status;
    }
  }

  const PostgresPlace place_;
  Connections connections_;
  bool knows_ids_ = false, may_remember_ = false;
  PostgresIndex index_;
};

}  // namespace

Result<std::unique_ptr<ObservationStore>> open_postgres_store(const PostgresPlace& place, TableInit init) {
  auto store = std::make_unique<PostgresStore>(place);
  const Status status = store->start(init);
  if (!status) return status.error();
  return std::unique_ptr<ObservationStore>(std::move(store));
}

}  // namespace tacho
