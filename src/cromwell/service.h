// The event service: checks the caller, finds the workflow that an event is about, uploads it once, and answers so that
// the sender of the event does the right thing: 2xx done or nothing to do, 4xx no use to send it again, 5xx again
// later. Thread-safe; a call waits until its workflow is uploaded.
#pragma once
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "cromwell/caller_check.h"
#include "cromwell/posted_event.h"
#include "cromwell/workflow_uploader.h"
#include "http/server.h"
#include "os/thread.h"

namespace tacho {

struct ServiceLimits {
  int jobs = 4;      // uploads at once
  int waiting = 24;  // events that wait for one; more are told to come back
};

class Service {
 public:
  using Uploader = std::function<UploadResult(const std::string& id)>;  // thread-safe
  Service(Uploader uploader, CallerCheck& callers, ServiceLimits limits)
      : uploader_(std::move(uploader)), callers_(callers), limits_(limits) {}
  ServedResponse handle(const ServedRequest& request);

 private:
  using Result_ = std::shared_ptr<const UploadResult>;
  ServedResponse event(const PostedEvent& event);
  // Waits for a place, or for another caller that uploads the same workflow just now; null when too many wait.
  Result_ upload(const std::string& id);
  Result_ upload_now(const std::string& id);
  bool was_done(const std::string& key);
  void remember(const std::string& key);

  const Uploader uploader_;
  CallerCheck& callers_;
  ServiceLimits limits_;
  WaitLock wait_lock_;
  int running_ = 0, waiting_ = 0;
  struct Job {
    Result_ result;  // null while it runs
  };
  std::map<std::string, std::shared_ptr<Job>> jobs_;
  std::list<std::string> recent_;  // objects with their generation, the newest last
  std::set<std::string> recent_keys_;
};

}  // namespace tacho
