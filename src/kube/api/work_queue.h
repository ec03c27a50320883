// Keys that wait for work: each at most once, none with two workers at a time, and with a back-off of its own after a
// failure. A key that is added while it is worked on comes again afterwards. Thread-safe.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "os/thread.h"

namespace tacho {

class WorkQueue {
 public:
  void add(const std::string& key);
  // Comes at this time or before; an earlier time stays.
  void add_after(const std::string& key, int64_t delay_ms);
  // The work failed: the key comes again after a time that doubles from first_ms to last_ms, with jitter. `random` is
  // in [0, 1). Not before `at_least_ms`, also when it is added anew.
  void retry(const std::string& key, double random, int64_t first_ms = 100, int64_t last_ms = 30'000,
             int64_t at_least_ms = 0);
  // The work succeeded: after the next failure the time starts from first_ms.
  void forget(const std::string& key);
  // Waits for a key; nothing after stop(). done() has to follow.
  std::optional<std::string> take();
  void done(const std::string& key);
  void stop();
  size_t size();

 private:
  // The lock is held:
  void push(const std::string& key);
  void appoint(const std::string& key, int64_t at_ns);

  WaitLock wait_lock_;
  std::deque<std::string> ready_;
  std::unordered_set<std::string> waiting_, working_, again_;
  std::multimap<int64_t, std::string> appointments_;
  std::unordered_map<std::string, int64_t> appointed_ns_, not_before_ns_;
  std::unordered_map<std::string, int> failures_;
  bool stopped_ = false;
};

}  // namespace tacho
