// Waits for the machine to be reclaimed (cromwell-bigquery.md §1.7): one open request to the metadata server in a
// thread of its own, repeated when it times out. Reports once, by "@preempted" on stderr, which the agent reads
// (spool/bq_record.h).
#pragma once
#include <memory>
#include <string>

namespace tacho {

class PreemptionWatch {
 public:
  explicit PreemptionWatch(std::string metadata_host);
  ~PreemptionWatch();  // ends the request in flight
  PreemptionWatch(const PreemptionWatch&) = delete;
  PreemptionWatch& operator=(const PreemptionWatch&) = delete;
  bool told() const;  // the machine is being taken away

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tacho
