// The webhook's warnings as Events, so that they can be found after kubectl's output has scrolled away, or when nobody
// ran kubectl. Written by a thread of its own: no review waits for it. The same is not reported twice for an object;
// when the API server is slow, the rest is dropped. Thread-safe.
#pragma once
#include <deque>
#include <string>
#include <thread>
#include <unordered_set>

#include "kube/api/cluster.h"
#include "kube/api/kube_event.h"
#include "os/thread.h"

namespace tacho {

class WebhookEvents {
 public:
  explicit WebhookEvents(ClusterWriter& cluster);
  ~WebhookEvents() { stop(); }
  // Returns at once. Without the name of an object, nothing is reported.
  void tell(const EventSubject& about, const char* reason, const std::string& message);
  void stop();  // what still waits is dropped

 private:
  struct Wanted {
    EventSubject about;
    const char* reason;
    std::string message;
  };
  void run();

  ClusterWriter& cluster_;
  WaitLock wait_lock_;
  std::deque<Wanted> waiting_;
  std::unordered_set<std::string> told_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tacho
