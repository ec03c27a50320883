// Where observation logs are kept: one table, observation_logs (trial_name, id, time, metric_name, value), in SQLite
// or in PostgreSQL. Thread-safe: each call takes a connection of its own. An Error with Code::invalid is about the
// data and stays; any other is about the store and may pass.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tacho {

struct LogQuery {
  std::string trial;
  std::string metric;                     // empty: all
  std::optional<int64_t> from_us, to_us;  // both inclusive, µs since 1970
};

// The rows of one report: commit() stores all of them; without it, none is stored.
class StoreBatch {
 public:
  virtual ~StoreBatch() = default;
  // A report of the same id is stored already: there is nothing to add.
  virtual bool known() const { return false; }
  virtual Status add(int64_t time_us, std::string_view metric, std::string_view value) = 0;
  virtual Status commit() = 0;
};

class ObservationStore {
 public:
  using Visit = std::function<void(int64_t time_us, std::string_view metric, std::string_view value)>;
  virtual ~ObservationStore() = default;

  // `id`: a report is stored once under it, however often and from wherever it is sent; "": none.
  virtual Result<std::unique_ptr<StoreBatch>> begin(const std::string& trial, const std::string& id = "") = 0;
  // Whether it can remember ids; otherwise they are ignored.
  virtual bool knows_ids() const { return false; }
  virtual Status read(const LogQuery& query, const Visit& visit) = 0;  // ordered by time, then id
  virtual Status remove(const std::string& trial) = 0;
  virtual Status probe() = 0;                   // ok: the store answers
  virtual std::string description() const = 0;  // for people; without secrets
};

// "CREATE TABLE IF NOT EXISTS" and its index, or only a check that the table exists.
enum class TableInit { create, check, read_only };

struct PostgresPlace;
Result<std::unique_ptr<ObservationStore>> open_sqlite_store(const std::string& file, TableInit init);
Result<std::unique_ptr<ObservationStore>> open_postgres_store(const PostgresPlace& place, TableInit init);

}  // namespace tacho
