#include "deliver/beside.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "deliver/delivery.h"
#include "deliver/environment.h"
#include "deliver/kinds.h"
#include "deliver/leftovers.h"
#include "os/clock.h"
#include "os/environment.h"
#include "os/memory.h"
#include "spool/contract.h"
#include "spool/finish_timeout.h"

namespace tacho {
namespace {

constexpr int64_t kBackgroundPatience_ns = 3600 * kNsPerSec;
constexpr int64_t kLookAgain_ns = 2 * kNsPerSec;      // for runs whose own deliverer has given up since
constexpr int64_t kLeftoverGrace_ns = kNsPerSec;      // for a request in flight when the end comes
constexpr int64_t kOrphanBudget_ns = 60 * kNsPerSec;  // nobody waits: a little longer than the agent would
constexpr int64_t kLastWords_ns = 200 * kNsPerMs;     // to write down how far it got, before the agent stops waiting
constexpr int64_t kLongSleep_ns = 5 * kNsPerSec;

// What the agent says through the pipe.
class Control {
 public:
  explicit Control(int fd) : fd_(fd) { ::fcntl(fd, F_SETFL, O_NONBLOCK); }
  ~Control() { ::explicit_bzero(pending_.data(), pending_.size()); }

  int fd() const { return fd_; }
  bool ended() const { return ended_; }  // the run is over, or the agent is dead
  bool killed() const { return closed_ && !told_end_; }
  bool quit() const { return told_end_ && (closed_ || told_quit_); }
  int64_t budget_ms() const { return budget_ms_; }
  std::string take_token() { return std::exchange(token_, {}); }
  bool has_token() const { return has_token_; }
  std::vector<std::string> take_places() { return std::move(places_); }

  void read() {
    char buffer[8192];
    while (!closed_) {
      const ssize_t got = ::read(fd_, buffer, sizeof buffer);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) break;
      if (got == 0) closed_ = true;
      pending_.append(buffer, static_cast<size_t>(got));
      ::explicit_bzero(buffer, static_cast<size_t>(got));
    }
    for (size_t end = pending_.find('\n'); end != std::string::npos; end = pending_.find('\n')) {
      take(std::string_view(pending_).substr(0, end));
      ::explicit_bzero(pending_.data(), end);
      pending_.erase(0, end + 1);
    }
    ended_ = ended_ || closed_;
  }

 private:
  void take(std::string_view line) {
    if (line.starts_with(control::kToken)) token_ = line.substr(1), has_token_ = true;
    if (line.starts_with(control::kPlace)) places_.emplace_back(line.substr(1));
    if (line.starts_with(control::kSecret)) take_secret(line.substr(1));
    if (line.starts_with(control::kEnd))
      ended_ = told_end_ = true, budget_ms_ = parse_int<int64_t>(line.substr(1)).value_or(0);
    if (line.starts_with(control::kQuit)) told_quit_ = true;
  }

  // Behind the environment that the system shows of this process.
  static void take_secret(std::string_view line) {
    for (const char* name : kMetricSecrets)
      if (const size_t equals = line.find('='); line.substr(0, equals) == name && equals != line.npos)
        ::setenv(name, std::string(line.substr(equals + 1)).c_str(), 1);
  }

  int fd_;
  std::string pending_, token_;
  std::vector<std::string> places_;
  bool has_token_ = false, ended_ = false, told_end_ = false, told_quit_ = false, closed_ = false;
  int64_t budget_ms_ = 0;
};

class Beside {
 public:
  Beside(const std::vector<std::string>& folders, int control)
      : control_(control), notices_(true), shared_{http_, notices_, "", {}, {}} {
    wait_for_token();
    shared_.token = control_.take_token();
    shared_.places = control_.take_places();
    complete(shared_, cloud_, [this] { return look(), control_.ended(); });
    shared_.ending = [this] { return look(), control_.ended(); };
    http_.on_cancel([this] { return cancelled(); });
    for (const std::string& folder : folders) add(SpoolRun(folder), Role::beside);
    own_ = runs_.size();
    for (const std::string& folder : folders)
      if (const DeliveryKind* kind = kind_of(SpoolRun(folder)); kind != nullptr && kind->leftovers_at_once)
        at_once_.push_back(folder);
    look_for_leftovers();
  }

  int run() {
    give_back_memory(true);
    while (own_ > 0 && !control_.quit()) {
      if (std::exchange(poked_, false))
        for (Sent& run : runs_) run.next_ns = 0;
      look_for_leftovers();
      const int64_t wake_ns = step_all();
      // Once, also where the service cannot be reached: that is when a spool grows.
      if (!std::exchange(bounded_, true)) bound_spool(notices_);
      if (own_ == 0) break;
      // Loading and TLS have touched most of some thirty libraries; asleep none of that is needed.
      if (!poked_ && wake_ns - system_clock().monotonic_ns() > kLongSleep_ns) give_back_memory(true);
      // What came in the middle of a request is not waited for once more.
      if (!poked_) wait(wake_ns);
    }
    return own_ == 0 && !left_ ? 0 : 1;
  }

 private:
  struct Sent {
    std::unique_ptr<Delivery> delivery;
    int64_t next_ns = 0;
    bool ended = false;

    void finish(int64_t deadline_ns) {
      ended = true;
      next_ns = 0;
      delivery->finish(deadline_ns);
    }
  };

  void add(SpoolRun run, Role role) {
    runs_.push_back({make_delivery(std::move(run), role, shared_)});
    if (role == Role::background) runs_.back().finish(system_clock().monotonic_ns() + kBackgroundPatience_ns);
  }

  // Whenever it is awake anyway. What it has given up itself is for the next start.
  void look_for_leftovers() {
    const int64_t now = system_clock().monotonic_ns();
    if (control_.ended() || now < look_again_ns_) return;
    look_again_ns_ = now + kLookAgain_ns;
    for (const std::string& folder : at_once_)
      for (SpoolRun& run : take_leftovers(folder))
        if (tried_.insert(run.folder()).second) add(std::move(run), Role::background);
  }

  void wait_for_token() {
    notice();  // a short job may have ended before this process began: its time counts too
    while (!control_.has_token() && !control_.ended()) wait(kNever);
  }

  void wait(int64_t wake_ns) {
    pollfd fd{control_.fd(), POLLIN, 0};
    // A pipe that is closed is always ready.
    const bool listen = !control_.killed();
    const int ready = system_clock().wait(std::span(&fd, listen ? 1 : 0), wake_ns);
    if (ready > 0) notice();
  }

  void notice() {
    const bool ended_before = control_.ended();
    control_.read();
    poked_ = true;
    if (!control_.ended() || ended_before) return;
    int64_t budget_ns =
        control_.killed() ? finish_timeout_ns().value_or(kOrphanBudget_ns) : control_.budget_ms() * kNsPerMs;
    budget_ns -= std::min(budget_ns / 10, kLastWords_ns);
    deadline_ns_ = system_clock().monotonic_ns() + budget_ns;
    half_ns_ = deadline_ns_ - budget_ns / 2;
    grace_ns_ = deadline_ns_ - budget_ns + std::min(budget_ns / 4, kLeftoverGrace_ns);
  }

  int64_t step_all() {
    int64_t wake_ns = kNever;
    // At the end the time is for this run; what others left stays where it is.
    while (control_.ended() && runs_.size() > own_) remove(runs_.size() - 1);
    // Leftovers first: they are older.
    for (size_t i = runs_.size(); i-- > 0;) {
      Sent& run = runs_[i];
      const bool own = i < own_;
      if (own && control_.ended() && !run.ended) run.finish(deadline_ns_);
      if (system_clock().monotonic_ns() >= run.next_ns) {
        active_ = own ? &run : nullptr;
        const Step step = run.delivery->step();
        active_ = nullptr;
        const bool over = step.kind == Step::Kind::done || (step.kind == Step::Kind::left && run.ended);
        if (over) {
          left_ = left_ || (own && step.kind == Step::Kind::left);
          remove(i);
          continue;
        }
        // What was given up while the run goes on is tried once more at its end.
        run.next_ns = step.kind == Step::Kind::left ? kNever : step.wake_ns;
      }
      wake_ns = std::min(wake_ns, run.next_ns);
    }
    if (own_ > 0 && !control_.ended() && wake_ns > system_clock().monotonic_ns())
      wake_ns = std::min(wake_ns, step_leftovers());
    return wake_ns;
  }

  void remove(size_t index) {
    runs_.erase(runs_.begin() + static_cast<std::ptrdiff_t>(index));
    if (index < own_) --own_;
  }

  // What dead runs left, one at a time, only while this run needs nothing.
  int64_t step_leftovers() {
    const bool registered =
        std::all_of(runs_.begin(), runs_.end(), [](const Sent& run) { return run.delivery->is_registered(); });
    if (!registered) return kNever;
    return leftovers_.step(shared_, [this](const SpoolMeta& meta) {
      return std::any_of(runs_.begin(), runs_.begin() + static_cast<std::ptrdiff_t>(own_),
                         [&](const Sent& run) { return run.delivery->sends_too(meta); });
    });
  }

  // Takes what the agent said meanwhile, without waiting.
  void look() {
    pollfd fd{control_.fd(), POLLIN, 0};
    if (!control_.killed() && ::poll(&fd, 1, 0) > 0) notice();
  }

  // Asked while a request is under way.
  bool cancelled() {
    look();
    if (control_.quit()) return true;
    if (!control_.ended()) return false;
    // A request for somebody else's run, or one that hangs since before the end, must not eat the time of the end. A
    // moment it has: cut short, nobody would know whether its rows arrived, and they would go again.
    const int64_t limit_ns = active_ == nullptr ? grace_ns_
                             : active_->ended   ? active_->delivery->cancel_at_ns()
                                                : half_ns_;
    return limit_ns > 0 && system_clock().monotonic_ns() >= limit_ns;
  }

  Control control_;
  Notices notices_;
  HttpClient http_;
  CloudFields cloud_;
  Delivering shared_;
  std::vector<Sent> runs_;  // our own, then leftovers that are sent at once
  size_t own_ = 0;
  std::vector<std::string> at_once_;  // folders of ours beside which leftovers are looked for
  std::set<std::string> tried_;
  int64_t look_again_ns_ = 0;
  Leftovers leftovers_;
  const Sent* active_ = nullptr;
  int64_t deadline_ns_ = 0, half_ns_ = 0, grace_ns_ = 0;
  bool left_ = false, poked_ = false, bounded_ = false;
};

}  // namespace

int deliver_beside(const std::vector<std::string>& folders, int control) {
  ::signal(SIGPIPE, SIG_IGN);
  // The agent says when it is over, or its end of the pipe does. What clears a machine up sends SIGTERM to everybody,
  // and the last rows are sent after that.
  for (const int number : {SIGTERM, SIGHUP, SIGINT}) ::signal(number, SIG_IGN);
  return Beside(folders, control).run();
}

}  // namespace tacho
