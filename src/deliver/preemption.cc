#include "deliver/preemption.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/backoff.h"
#include "base/text.h"
#include "base/units.h"
#include "net/google/gce_metadata.h"
#include "os/fd.h"
#include "spool/contract.h"

namespace tacho {
namespace {

constexpr int kPoll_s = 300;
constexpr int64_t kPause_ns = kNsPerSec, kLongestPause_ns = 30 * kNsPerSec;

void tell() {
  const std::string line = std::string(kPreemptedMessage) + "\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

struct PreemptionWatch::State {
  Fd stop{::eventfd(0, EFD_CLOEXEC)};
  std::thread thread;
  std::atomic<bool> told = false;

  // False when it is time to end.
  bool pause(int64_t ns) const {
    pollfd fd{stop.get(), POLLIN, 0};
    return system_clock().wait(std::span(&fd, 1), system_clock().monotonic_ns() + ns) == 0;
  }

  void run(const std::string& host) {
    HttpClient http;
    http.set_stop_fd(stop.get());
    GceMetadata server(http, host);
    std::string etag;
    DoublingPause longer_ns(kPause_ns, kLongestPause_ns);
    for (;;) {
      const int64_t asked_ns = system_clock().monotonic_ns();
      const auto change = server.wait_for_change("instance/preempted", etag, kPoll_s);
      if (!change && (change.error().code == Code::gone || change.error().code == Code::not_available)) return;
      if (change && lower(change->value) == "true") {
        told = true;
        return tell();
      }
      if (change) etag = change->etag, longer_ns.reset();
      // A server that does not wait is not asked more than once a second; one that fails, less and less often.
      const bool waited = change && (system_clock().monotonic_ns() - asked_ns > kPause_ns);
      if (!waited && !pause(change ? kPause_ns : longer_ns.next())) return;
    }
  }
};

PreemptionWatch::PreemptionWatch(std::string metadata_host) : state_(std::make_unique<State>()) {
  state_->thread = std::thread([state = state_.get(), host = std::move(metadata_host)] { state->run(host); });
}

bool PreemptionWatch::told() const { return state_->told; }

PreemptionWatch::~PreemptionWatch() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(state_->stop.get(), &one, sizeof one);
  state_->thread.join();
}

}  // namespace tacho
