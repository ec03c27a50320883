// Leader election by a Lease (coordination.k8s.io/v1). The age of a lease is measured by this machine's clock, since
// its renewTime was last seen to change; clocks of two machines are never compared. LeaseView is pure; Leader has a
// thread of its own and is thread-safe.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "kube/api/api_client.h"
#include "kube/api/object.h"

namespace tacho {

struct LeaderOptions {
  std::string ns, name, identity;
  int64_t duration_s = 10;  // in the lease: others wait as long
  int64_t renew_ms = 2'000;
  int64_t give_up_ms = 7'000;  // without a successful renewal
};

// What is known of the lease, and what follows.
class LeaseView {
 public:
  explicit LeaseView(LeaderOptions options) : options_(std::move(options)) {}
  // A lease as the server has it, seen at this monotonic time.
  void see(const Json& lease, int64_t now_ns);
  // The server has none any more: the next one is made, and has nothing of the old one.
  void forget();
  bool known() const { return known_; }
  bool held_by_us() const { return holder_ == options_.identity; }
  // Nobody holds it, or its holder has been silent for the lease's own duration.
  bool may_take(int64_t now_ns) const;
  // How long until may_take could become true by time alone.
  int64_t wait_ms(int64_t now_ns) const;
  // The lease to write: taken, renewed, or given up.
  Json lease(const std::string& now, bool release) const;
  const std::string& holder() const { return holder_; }

 private:
  LeaderOptions options_;
  std::string seen_;  // the whole lease: labels and all else in it are written back
  std::string holder_, renew_time_, acquire_time_, resource_version_;
  int64_t duration_s_ = 0, transitions_ = 0, changed_ns_ = 0;
  bool known_ = false;
};

class Leader {
 public:
  // Calls `on_start` once when the lease is ours and `on_loss` once when it no longer is, on the election's thread.
  Leader(std::shared_ptr<ApiServer> server, int stop_fd, LeaderOptions options, std::function<void()> on_start,
         std::function<void()> on_loss);
  ~Leader() { join(); }
  void start();
  void join();  // stop_fd must be readable by then; the lease is given up
  // Whether a write may be made now: the lease is ours and was renewed less than give_up_ms ago.
  bool leads() const;

 private:
  void run();
  void round();  // one look at the lease, and a write if it is or may become ours
  void release();

  LeaderOptions options_;
  ApiClient client_;
  LeaseView view_;
  std::shared_ptr<ApiServer> server_;
  std::function<void()> on_start_, on_loss_;
  std::atomic<int64_t> renewed_ns_{0};  // 0: not ours
  bool tried_ = false;                  // to write it, successfully or not; for its thread only
  std::thread thread_;
};

}  // namespace tacho
