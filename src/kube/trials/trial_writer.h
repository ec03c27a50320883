// Everything that is written for a Trial: its status with retries on conflict, its finalizer, its job and Events. Each
// write asks first whether this replica leads. One per thread.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "kube/api/api_client.h"
#include "kube/api/discovery.h"
#include "kube/api/object.h"
#include "kube/api/resource_watch.h"
#include "kube/trials/trials_metrics.h"

namespace tacho {

inline constexpr const char* kTrialApi = "kubeflow.org/v1beta1";
inline constexpr const char* kFinalizer = "clean-metrics-in-db";

enum class WriteEnd {
  done,      // also when there was nothing to change
  conflict,  // somebody else is faster; come again
  absent,    // the Trial is gone
  failed,    // `why()` tells
  not_leader,
};

class TrialWriter {
 public:
  TrialWriter(std::shared_ptr<ApiServer> server, std::shared_ptr<Discovery> discovery, int stop_fd,
              std::function<bool()> may_write, TrialsMetrics& metrics);

  // PUT …/status with the resourceVersion of `trial`, which becomes the server's reply. On a conflict the Trial is read
  // again and `change` computed anew, five times at most. `change` returns false when the status is right already.
  WriteEnd write_status(Json& trial, const std::function<bool(Json& trial)>& change);
  // `trial` as the server has it now; absent when it is gone, or is another one of that name.
  WriteEnd read_again(Json& trial);
  // Merge patch of metadata.finalizers; `trial` becomes the reply.
  WriteEnd set_finalizer(Json& trial, bool present);
  WriteEnd create_job(const Json& trial, const KindName& kind, Json& job);
  // Deletes in the foreground, so that the pods go first. A job that is gone already counts as done.
  WriteEnd delete_job(const Json& job);
  // Whether the server has the job: absent when it knows no such kind.
  WriteEnd know_kind(const KindName& kind);
  // Absent: `job` is left alone.
  WriteEnd read_job(const KindName& kind, const std::string& ns, const std::string& name, Json& job);
  // Best effort.
  void event(const Json& trial, bool warning, std::string_view reason, std::string_view message);
  const std::string& why() const { return why_; }
  // Of the last refusal: how long the server wants to be left alone.
  int64_t retry_after_ms() const { return retry_after_ms_; }

 private:
  WriteEnd refused(const ApiAnswer& answer);
  WriteEnd take(const ApiAnswer& answer, const std::string& kind, const std::string& name, Json& object);
  Result<std::string> job_path(const KindName& kind, const std::string& ns, const std::string& name);

  ApiClient client_;
  std::shared_ptr<Discovery> discovery_;
  std::function<bool()> may_write_;
  TrialsMetrics& metrics_;
  std::string why_;
  int64_t retry_after_ms_ = 0;
};

}  // namespace tacho
