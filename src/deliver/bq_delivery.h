// The delivery of a spooled run into BigQuery (cromwell-bigquery.md §1.10, §2): finds out who the machine is and writes
// that down first, so that insertIds never change; then streams each table's rows on its own, so that one that is
// blocked holds up no other. Whatever is killed at whatever moment, the next one sends the rest under the same ids. Not
// thread-safe.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "deliver/bq_identity.h"
#include "deliver/bq_meta.h"
#include "deliver/bq_segments.h"
#include "deliver/dead_letter.h"
#include "deliver/delivery.h"
#include "deliver/preemption.h"
#include "net/google/bigquery_stream.h"

namespace tacho {

class BqDelivery final : public Delivery {
 public:
  BqDelivery(SpoolRun run, Role role, Delivering& shared);
  ~BqDelivery() override;

  Step step() override;
  void owner_ended(int64_t deadline_ns) override;
  bool is_ended() const override { return ended_; }
  bool is_registered() const override { return opened_; }
  const std::string& reason() const override { return reason_; }
  int64_t cancel_at_ns() const override { return deadline_ns_; }

 private:
  struct Table {
    std::string prefix;  // members that every row gets: "\"instance_id\":1,"
    std::unique_ptr<BqStream> stream;
  };

  Status recover();
  Status open();
  Status open_project();
  bool is_time_to_guess() const;
  void add_table(char group, const std::string& table, BqTableSpec spec, const Json& members);
  BqEvents events_for(char group, const std::string& table);
  void fill(char group, Table& table);
  void repeat_runtime();
  Step work();
  Step left(std::string reason);
  Step wait_until(int64_t wake_ns) const;
  std::string insert_id(char group, int64_t time_us) const;
  int64_t now_ns() const { return shared_.clock.monotonic_ns(); }

  SpoolRun run_;
  Role role_;
  Delivering& shared_;
  BqMeta meta_;
  BqState state_;
  std::optional<GoogleToken> token_;
  std::optional<BigQuery> client_;
  std::optional<BqSegments> segments_;
  std::map<char, Table> tables_;
  DeadLetters dead_letters_;
  std::unique_ptr<PreemptionWatch> preemption_;
  std::string hash_, reason_;
  BqIdentity identity_;
  int64_t deadline_ns_ = 0, ended_ns_ = 0,
          ask_ns_ = 1'000'000'000;  // the pause before the metadata server is asked again
  int stuck_ = 0;
  bool opened_ = false, ended_ = false, recovered_ = false, told_refused_ = false, hurried_ = false;
};

}  // namespace tacho
