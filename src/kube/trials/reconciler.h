// Brings one Trial to the state it should have: finalizer, job, observation, conditions, clean-up (--mode own), or
// computes the same and compares (--mode check). One per worker thread; shared things are in TrialsContext, whose
// functions are thread-safe.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "katib/rpc/clients.h"
#include "kube/trials/conditions.h"
#include "kube/trials/job_watches.h"
#include "kube/trials/trial_rows.h"
#include "kube/trials/trial_writer.h"

namespace tacho {

struct TrialsSettings {
  bool own = false;                   // write; otherwise compare
  int64_t metrics_wait_ms = 600'000;  // for rows after the job's end
  int64_t page_after_s = 3'600;       // a longer training's rows are read in windows of time
};

struct TrialsContext {
  TrialsSettings settings;
  DbClient* db = nullptr;
  TrialsMetrics* metrics = nullptr;
  JobWatches* jobs = nullptr;
  std::function<std::shared_ptr<const std::string>(const std::string& key)> trial;  // from the cache; empty: gone
  // The server's reply to a write that was made from this version.
  std::function<void(const std::string& key, const std::string& from, const std::string& json)> wrote;
  std::function<std::vector<std::string>(const std::string& name, const std::string& ns)>
      namesakes;                                             // live Trials elsewhere
  std::function<bool(const std::string& note)> first_time;   // for what is told once
  std::function<int64_t(const std::string& key)> waited_ms;  // since this was first asked for the key
  std::function<void(const std::string& key)> stop_waiting;
};

struct Reconciled {
  enum class Next { nothing, soon, later };  // soon: from 0.1 s; later: from 1 s, both doubling to 30 s
  Next next = Next::nothing;
  std::string why{};
  int64_t not_before_ms = 0;  // as the server asked for
};

class Reconciler {
 public:
  Reconciler(TrialsContext& context, TrialWriter writer) : context_(context), writer_(std::move(writer)) {}
  Reconciled reconcile(const std::string& key);

 private:
  struct Metrics {
    std::vector<FinalMetric> final;
    std::string missing;  // the objective, when it has no row
  };
  Reconciled finalize(Json& trial);
  Reconciled advance(Json& trial, const KindName& kind);
  Reconciled end(Json& trial, const JobStatus& job);
  Reconciled clean_up(const Json& trial, const Json& job);
  Reconciled check(const Json& trial);
  Result<Metrics> read_metrics(const Json& trial);
  std::optional<Reconciled> status(Json& trial, const std::function<bool(Json&)>& change);
  Reconciled ended(WriteEnd end) const;
  bool first_time(const Json& trial, const std::string& what);
  void tell_namesakes(const Json& trial);

  TrialsContext& context_;
  TrialWriter writer_;
  std::string key_;
};

}  // namespace tacho
