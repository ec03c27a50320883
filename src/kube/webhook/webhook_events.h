// The webhook's warnings as Events, so that they are found after kubectl has scrolled away and where nobody sat at one.
// Written by a thread of its own: no review waits for it. What was told once of an object is not told again; when the
// API server is slow, the rest is dropped. Thread-safe.
#pragma once
#include <deque>
#include <string>
#include <thread>
#include <unordered_set>

#include "kube/api/cluster.h"
#include "kube/api/event.h"
#include "os/thread.h"

namespace tacho {

class WebhookEvents {
 public:
  explicit WebhookEvents(ClusterWriter& cluster);
  ~WebhookEvents() { stop(); }
  // Returns at once. Without a name of what it is about, nothing is told.
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
  Monitor monitor_;
  std::deque<Wanted> waiting_;
  std::unordered_set<std::string> told_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tacho
