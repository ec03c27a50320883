// The index on a table that exists already and may be large: made while the service runs, which starts without it, and
// while others write (CREATE INDEX CONCURRENTLY). An index that an earlier attempt left half made is made again. Of
// several services on one database, one makes it. The destructor ends it.
#pragma once
#include <memory>
#include <mutex>
#include <thread>

#include "base/result.h"
#include "katib/db/postgres.h"

namespace tacho {

class PostgresIndex {
 public:
  explicit PostgresIndex(const PostgresPlace& place) : place_(place) {}
  ~PostgresIndex();
  PostgresIndex(const PostgresIndex&) = delete;
  PostgresIndex& operator=(const PostgresIndex&) = delete;
  void start();

 private:
  Status make();
  const PostgresPlace place_;
  std::thread thread_;
  std::mutex mutex_;
  std::shared_ptr<PostgresConnection> connection_;
  bool ending_ = false;
};

}  // namespace tacho
