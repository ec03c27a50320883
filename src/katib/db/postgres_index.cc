#include "katib/db/postgres_index.h"

#include <optional>

#include "base/log.h"

namespace tacho {
namespace {

constexpr const char* kState =
    "SELECT i.indisvalid::text, '', '' FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relname = "
    "'observation_logs_by_metric' "
    "AND i.indrelid = 'observation_logs'::regclass";
// Whoever makes it holds this; released with the connection at the latest.
constexpr const char* kLock =
    "SELECT pg_try_advisory_lock(hashtext('tacho ' || 'observation_logs'::regclass::oid::text))::text, '', ''";
constexpr const char* kDrop = "DROP INDEX CONCURRENTLY IF EXISTS observation_logs_by_metric";
constexpr const char* kMake =
    "CREATE INDEX CONCURRENTLY IF NOT EXISTS observation_logs_by_metric ON observation_logs (trial_name, metric_name, "
    "time)";

// The first column of the first row.
Status ask(PostgresConnection& connection, const char* sql, std::optional<std::string>& answer) {
  answer.reset();
  return connection.run(sql, {}, [&](std::span<const std::string_view> columns) { answer = std::string(columns[0]); });
}

}  // namespace

PostgresIndex::~PostgresIndex() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    if (connection_) connection_->cancel();
  }
  thread_.join();
}

void PostgresIndex::start() {
  thread_ = std::thread([this] {
    const Status made = make();
    const std::lock_guard lock(mutex_);
    connection_.reset();
    if (!made && !ending_) log::warn(made.error().message() + "; without its index reading large logs is slow");
  });
}

Status PostgresIndex::make() {
  Result<std::unique_ptr<PostgresConnection>> opened = PostgresConnection::open(place_);
  if (!opened) return opened.error();
  PostgresConnection& connection = **opened;
  std::optional<std::string> valid, locked;
  if (Status asked = ask(connection, kState, valid); !asked || valid == "true") return asked;
  if (Status asked = ask(connection, kLock, locked); !asked || locked != "true") return asked;
  // Somebody may have made it in between; what is not valid is nobody's work in progress, since we hold the lock.
  if (Status asked = ask(connection, kState, valid); !asked || valid == "true") return asked;
  if (Status free = connection.without_limit(); !free) return free;
  {
    const std::lock_guard lock(mutex_);
    if (ending_) return ok();
    connection_ = std::move(*opened);
  }
  if (valid)
    if (Status dropped = connection.run(kDrop, {}); !dropped) return dropped;
  {
    const std::lock_guard lock(mutex_);
    if (ending_) return ok();
  }
  return connection.run(kMake, {});
}

}  // namespace tacho
