// Sends batches of rows into one table on a thread of its own, while the next batch is made: at most one is on its way
// and one waits. Rows too old for streaming go to an NDJSON file for a load job; rows that BigQuery refuses are
// reported and counted. One owner.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "net/google/bigquery_stream.h"
#include "net/google/google_token.h"
#include "os/thread.h"

namespace tacho {

inline constexpr size_t kBatchRows = 500;  // BigQuery advises no more in one request

struct SenderSettings {
  BqSettings bq;
  BqTableSpec spec;
  GoogleAuthSettings auth;
  std::string ndjson_path;        // "-": stdout
  int64_t patience_ms = 600'000;  // for one batch
};

struct SenderResult {
  int64_t accepted = 0, dropped = 0, too_old = 0;
  std::string too_old_path;  // where those are
  bool later = false;        // what is missing may work another time
  std::string why;           // empty: every row has arrived, or is in the NDJSON file
};

class Sender {
 public:
  explicit Sender(SenderSettings settings);
  ~Sender();
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  // Waits while another batch is waiting and, with a large one, also while another is sent; false when sending has
  // failed for good.
  bool push(std::vector<BqRow> batch);
  // Waits for all of it.
  SenderResult finish();

 private:
  void run();
  void send(std::vector<BqRow> batch, BqStream& stream);
  void fail(std::string why, bool later);

  SenderSettings settings_;
  WaitLock wait_lock_;
  std::optional<std::vector<BqRow>> waiting_;
  bool busy_ = false, over_ = false;
  SenderResult result_;
  std::thread thread_;
};

// Appends lines to a file, "-" is stdout; whole batches at a time.
Status append_ndjson(const std::string& path, std::string_view lines);

}  // namespace tacho
