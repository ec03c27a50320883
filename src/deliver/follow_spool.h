// The runs of the spool that become free, in one pair of hands: each goes its way (deliver/follow_way.h). A few ways
// are gone at a time, each by a thread, so that a receiver that is slow or away holds nobody else up, and nobody has
// more than a few connections. What is in hands is bounded, and so is what is read again at each look. For one thread.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "deliver/follow_way.h"
#include "os/thread.h"
#include "os/workers.h"

namespace tacho {

class FollowedSpool {
 public:
  // `stops` is asked by several threads.
  FollowedSpool(const Delivering& common, std::function<bool()> stops);

  // Takes runs that are free, oldest first.
  void look();
  // Has done what is due; returns when to come again.
  int64_t start_due();
  // Until then, or until a way was gone.
  void wait(int64_t until_ns);

 private:
  struct Way {
    std::unique_ptr<FollowWay> way;
    size_t runs = 0;
    int64_t due_ns = 0, not_before_ns = 0;
    bool busy = false;  // a thread has `way`
  };
  // What is known of a folder, so that its description is read once.
  struct Known {
    std::string way;
    int64_t not_before_ns = 0;
  };
  struct Gone {
    std::string way;
    int64_t due_ns;
  };

  int64_t now_ns() const { return common_.clock.monotonic_ns(); }
  bool has_room(const Way& way) const;
  bool identify(const std::string& folder, Known& known);
  void take(const std::string& folder, Known& known);
  void collect(const Gone& gone);

  const Delivering& common_;
  std::function<bool()> stops_;
  std::map<std::string, Way> ways_;
  std::map<std::string, Known> known_;
  size_t in_hands_ = 0;
  WaitLock lock_;
  std::vector<Gone> gone_;  // guarded by it
  Workers workers_;         // the last: its end waits for the threads
};

}  // namespace tacho
