// What the tests of katib/db share: rows, a server over a store with a client, and a PostgreSQL server of their own
// where one is installed (Debian: postgresql).
#pragma once
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "katib/db/service.h"
#include "katib/db/store.h"
#include "katib/model/time_stamp.h"
#include "katib/rpc/clients.h"
#include "support/temp_dir.h"

namespace tacho {

inline MetricRow metric_row(std::string time, std::string name, std::string value) {
  MetricRow row;
  row.time_stamp = time;
  row.name = std::move(name);
  row.value = std::move(value);
  return row;
}

inline int64_t us(std::string_view time) { return *parse_time_stamp_us(time); }

// "time name value" of each row.
inline std::vector<std::string> read_all(ObservationStore& store, const LogQuery& query) {
  std::vector<std::string> rows;
  const Status status = store.read(query, [&](int64_t time_us, std::string_view metric, std::string_view value) {
    std::string row(TimeStampText(time_us).wire());
    rows.push_back(row.append(" ").append(metric).append(" ").append(value));
  });
  if (!status) rows.push_back(status.error().message());
  return rows;
}

inline Status store_one(ObservationStore& store, const std::string& trial, std::string_view time, std::string_view name,
                        std::string_view value) {
  auto batch = store.begin(trial);
  if (!batch) return batch.error();
  if (Status status = (*batch)->add(us(time), name, value); !status) return status;
  return (*batch)->commit();
}

// Run as another user when this one is root, whom PostgreSQL refuses.
class PostgresServer {
 public:
  PostgresServer() {
    for (const auto& entry : std::filesystem::directory_iterator("/usr/lib/postgresql", ignored_))
      bin_ = entry.path().string() + "/bin/";
    if (bin_.empty()) return;
    ::chmod(folder_.path().c_str(), 0777);
    data_ = folder_ / "data";
    if (!command("initdb -A trust -U katib --no-sync -D " + data_)) return;
    running_ = start();
  }
  ~PostgresServer() { stop(); }

  bool running() const { return running_; }
  std::string url(const std::string& user = "katib") const {
    return "postgres://" + user + "@/postgres?host=" + folder_.path();
  }
  bool start() {
    return command("pg_ctl -w -t 60 -D " + data_ + " -o \"-c listen_addresses= -c fsync=off -k " + folder_.path() +
                   "\" start");
  }
  bool stop() { return command("pg_ctl -w -m immediate -D " + data_ + " stop"); }

 private:
  bool command(const std::string& words) {
    std::string line = bin_ + words + " > " + folder_.path() + "/out 2>&1 < /dev/null";
    if (::geteuid() == 0) {
      spill(folder_ / "line", line);
      line = "setpriv --reuid=65534 --regid=65534 --clear-groups sh " + (folder_ / "line");
    }
    return std::system(("cd / && " + line).c_str()) == 0;
  }

  std::error_code ignored_;
  TempDir folder_;
  std::string bin_, data_;
  bool running_ = false;
};

}  // namespace tacho
