// The delivery of a spooled run into BigQuery (cromwell-bigquery.md §1.10, §2): first finds out the machine's identity
// and writes it down, so that insertIds never change; then streams each table's rows separately, so that a blocked
// table holds up no other. Whatever is killed at whatever moment, the next process sends the rest under the same ids.
// Not thread-safe.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/backoff.h"
#include "base/units.h"
#include "deliver/bq_identity.h"
#include "deliver/bq_meta.h"
#include "deliver/bq_segments.h"
#include "deliver/dead_letter.h"
#include "deliver/preemption.h"
#include "deliver/spooled_delivery.h"
#include "net/google/bigquery_stream.h"

namespace tacho {

// Rows that were meant for another BigQuery than ours do not go to ours, nor our token to that one. Empty: it is ours.
std::string bigquery_is_elsewhere(const SpoolMeta& meta);

class BqDelivery final : public SpooledDelivery {
 public:
  BqDelivery(SpoolRun run, Role role, Delivering& shared);
  ~BqDelivery() override;

  void finish(int64_t deadline_ns) override;
  bool is_registered() const override { return opened_; }

 private:
  struct Table {
    std::string prefix;  // members that every row gets: "\"instance_id\":1,"
    std::unique_ptr<BqStream> stream;
  };

  Step proceed() override;
  Step opened_later(const Error& error);
  Status open();
  Status read_records();
  Status find_identity();
  void open_tables();
  Status open_project();
  bool is_time_to_guess() const;
  void add_table(char group, const std::string& table, BqTableSpec spec, const Json& members);
  BqEvents events_for(char group, const std::string& table);
  void fill(char group, Table& table);
  void repeat_runtime();
  Step work();
  std::string insert_id(char group, int64_t time_us) const;

  BqMeta meta_;
  BqState state_;
  std::optional<GoogleToken> token_;
  std::optional<BigQuery> client_;
  std::optional<BqSegments> segments_;
  std::map<char, Table> tables_;
  DeadLetters dead_letters_;
  std::unique_ptr<PreemptionWatch> preemption_;
  std::string hash_;
  BqIdentity identity_;
  DoublingPause ask_ns_{kNsPerSec, 30 * kNsPerSec};  // before the metadata server is asked again
  int64_t ended_ns_ = 0;
  int stuck_ = 0;
  bool opened_ = false, told_refused_ = false, hurried_ = false;
};

}  // namespace tacho
