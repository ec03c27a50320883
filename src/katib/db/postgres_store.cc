#include <algorithm>
#include <array>

#include "base/log.h"
#include "katib/db/pool.h"
#include "katib/db/postgres.h"
#include "katib/db/store.h"
#include "katib/rpc/time_stamp.h"

namespace tacho {
namespace {

// The table as the service makes it elsewhere; the index is ours, and only asked for where it is missing.
constexpr const char* kTable =
    "CREATE TABLE IF NOT EXISTS observation_logs (trial_name VARCHAR(255) NOT NULL, id serial PRIMARY KEY, time "
    "TIMESTAMP(6), "
    "metric_name VARCHAR(255) NOT NULL, value TEXT NOT NULL)";
constexpr const char* kIndex =
    "CREATE INDEX IF NOT EXISTS observation_logs_by_metric ON observation_logs (trial_name, metric_name, time)";
constexpr const char* kCheck = "SELECT trial_name, id, time, metric_name, value FROM observation_logs LIMIT 0";
constexpr const char* kCopy = "COPY observation_logs (trial_name, time, metric_name, value) FROM STDIN (FORMAT binary)";

// The binary form of COPY: signature, flags, no extension; each row a count of fields and each field its length and
// bytes.
constexpr std::string_view kCopyHeader("PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0", 19);
constexpr std::string_view kCopyTrailer("\377\377", 2);
constexpr int64_t kPostgresEpochUs = 946'684'800'000'000;   // 2000-01-01 in µs since 1970: where its time stamps begin
constexpr int64_t kYearOneUs = -62'135'596'800'000'000;     // before it PostgreSQL counts years BC
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
  PostgresBatch(Connections::Lease connection, std::string trial)
      : connection_(std::move(connection)), trial_(std::move(trial)), bytes_(kCopyHeader) {}
  ~PostgresBatch() override {
    if (finished_) return;
    connection_->abandon_copy("the report was refused");
    if (connection_->broken()) connection_.discard();
  }

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
    bytes_ += kCopyTrailer;
    Status status = flush();
    if (!status) return status;
    finished_ = true;
    status = connection_->end_copy();
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
  bool finished_ = false;
};

class PostgresStore final : public ObservationStore {
 public:
  explicit PostgresStore(PostgresPlace place)
      : place_(std::move(place)), connections_([this] { return PostgresConnection::open(place_); }) {}

  Status start(TableInit init) {
    return with_connection([&](PostgresConnection& connection) -> Status {
      Status created = init == TableInit::create ? connection.run(kTable, {}) : ok();
      const Status indexed = created && init == TableInit::create ? connection.run(kIndex, {}) : ok();
      // A table of somebody else may be used without the right to make one.
      Status usable = connection.run(kCheck, {});
      if (usable && !indexed) log::warn(indexed.error().message() + "; without its index reading large logs is slow");
      return usable || created ? usable : created;
    });
  }

  Result<std::unique_ptr<StoreBatch>> begin(const std::string& trial) override {
    for (bool again = false;; again = true) {
      Result<Connections::Lease> connection = connections_.take();
      if (!connection) return connection.error();
      const Status status = (*connection)->start_copy(kCopy);
      if (status) return std::unique_ptr<StoreBatch>(new PostgresBatch(std::move(*connection), trial));
      if (!drop_if_broken(*connection) || again) return status.error();
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
      return connection.run("DELETE FROM observation_logs WHERE trial_name = $1", parameters);
    });
  }

  Status probe() override {
    return with_connection([](PostgresConnection& connection) { return connection.run("SELECT 1", {}); });
  }

  std::string description() const override { return "PostgreSQL " + place_.name; }

 private:
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
};

}  // namespace

Result<std::unique_ptr<ObservationStore>> open_postgres_store(const PostgresPlace& place, TableInit init) {
  auto store = std::make_unique<PostgresStore>(place);
  const Status status = store->start(init);
  if (!status) return status.error();
  return std::unique_ptr<ObservationStore>(std::move(store));
}

}  // namespace tacho
