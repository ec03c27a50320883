#include "http/loop.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "base/log.h"
#include "base/units.h"
#include "os/clock.h"
#include "os/file.h"

namespace tacho {
namespace {

constexpr uint64_t kWakeId = 1, kListenerId = 2;
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
constexpr int64_t kLookAtFilesNs = 5 * kNsPerSec;
constexpr int64_t kDrainStepNs = 100 * kNsPerMs;

}  // namespace

Status Loop::start(int listener_fd, std::function<void(Fd)> accepted) {
  epoll_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
  wake_ = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!epoll_ || !wake_) return system_error("cannot make an event loop", "epoll", errno);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kWakeId;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event);
  listener_fd_ = listener_fd;
  accepted_ = std::move(accepted);
  // Signals are for the program's own thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return ok();
}

void Loop::join() {
  if (thread_.joinable()) thread_.join();
}

void Loop::wake() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

void Loop::post(Letter&& letter) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    mail_.push_back(std::move(letter));
    first = !std::exchange(signalled_, true);
  }
  if (first) wake();
}

void Loop::adopt(Fd client) {
  load_.fetch_add(1, std::memory_order_relaxed);
  Letter letter;
  letter.client = std::move(client);
  post(std::move(letter));
}

void Loop::answer(uint64_t connection, uint64_t stream, ServedResponse&& response) {
  Letter letter;
  letter.connection = connection;
  letter.stream = stream;
  letter.response = std::move(response);
  post(std::move(letter));
}

void Loop::answer_now(uint64_t connection, uint64_t stream, ServedResponse&& response) {
  if (const auto found = connections_.find(connection); found != connections_.end())
    found->second->respond(stream, std::move(response));
}

void Loop::drain(int64_t until_ns) {
  {
    const std::lock_guard lock(mutex_);
    drain_asked_ns_ = until_ns;
  }
  wake();
}

void Loop::read_mail(int64_t now_ns) {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &count, sizeof count);
  std::vector<Letter> mail;
  int64_t drain_ns = 0;
  {
    const std::lock_guard lock(mutex_);
    mail.swap(mail_);
    signalled_ = false;
    drain_ns = drain_asked_ns_;
  }
  for (Letter& letter : mail) {
    if (letter.client) {
      const uint64_t id = next_id_++;
      std::shared_ptr<SSL_CTX> context = shared_.tls != nullptr ? shared_.tls->context() : nullptr;
      const int fd = letter.client.get();
      connections_[id] = std::make_unique<Connection>(
          std::move(letter.client), context.get(), shared_.rules,
          [this, id](uint64_t stream, ServedRequest&& request) {
            shared_.handle(*this, id, stream, std::move(request));
          },
          now_ns);
      if (drain_until_ns_ != 0) connections_[id]->drain();
      epoll_event event{};
      event.events = 0;
      event.data.u64 = id;
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
      step(id, now_ns);
    } else if (const auto found = connections_.find(letter.connection); found != connections_.end()) {
      found->second->respond(letter.stream, std::move(letter.response));
      step(letter.connection, now_ns);
    }
  }
  if (drain_ns != 0 && drain_until_ns_ == 0) {
    drain_until_ns_ = drain_ns;
    begin_drain(now_ns);
  }
}

void Loop::step(uint64_t id, int64_t now_ns) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& connection = *found->second;
  const Connection::Wish wish = connection.step(now_ns);
  if (wish.close) return close(id);
  if (wish.again) again_.push_back(id);
  next_sweep_ns_ = std::min(next_sweep_ns_, wish.deadline_ns);
  if (wish.events == connection.events_set) return;
  connection.events_set = wish.events;
  epoll_event event{};
  event.events = wish.events;
  event.data.u64 = id;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, connection.fd(), &event);
}

void Loop::close(uint64_t id) {
  if (connections_.erase(id) == 0) return;
  load_.fetch_sub(1, std::memory_order_relaxed);
  if (shared_.connections.fetch_sub(1) == shared_.connections_limit) shared_.on_room();
}

void Loop::listen_or_not() {
  if (listener_fd_ < 0) return;
  const bool wanted = drain_until_ns_ == 0 && shared_.connections.load() < shared_.connections_limit;
  if (wanted == listening_) return;
  listening_ = wanted;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kListenerId;
  ::epoll_ctl(epoll_.get(), wanted ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, listener_fd_, &event);
}

void Loop::accept_all() {
  while (shared_.connections.load() < shared_.connections_limit) {
    Fd client(::accept4(listener_fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!client) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
        log::warn("no descriptor is left for a new connection; raise the limit of open files");
        ::usleep(20'000);  // the connection stays in the kernel's queue, and epoll would tell of it at once again
      }
      return;
    }
    const int on = 1;
    ::setsockopt(client.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    shared_.connections.fetch_add(1);
    accepted_(std::move(client));
  }
}

void Loop::sweep(int64_t now_ns) {
  next_sweep_ns_ = kNever;
  std::vector<uint64_t> ids;
  ids.reserve(connections_.size());
  for (const auto& [id, connection] : connections_) ids.push_back(id);
  for (const uint64_t id : ids) step(id, now_ns);
}

void Loop::begin_drain(int64_t now_ns) {
  next_drain_ns_ = now_ns + kDrainStepNs;
  for (const auto& [id, connection] : connections_) connection->drain();
  sweep(now_ns);
}

int Loop::wait_ms(int64_t now_ns) const {
  if (!again_.empty()) return 0;
  int64_t until = connections_.empty() ? kNever : next_sweep_ns_;
  if (drain_until_ns_ != 0) until = std::min({until, drain_until_ns_, next_drain_ns_});
  if (shared_.tls != nullptr && listener_fd_ >= 0) until = std::min(until, next_files_ns_);
  if (until == kNever) return -1;
  return static_cast<int>(std::clamp<int64_t>((until - now_ns) / kNsPerMs + 1, 0, 60'000));
}

void Loop::run() {
  Clock& clock = system_clock();
  epoll_event events[128];
  next_files_ns_ = clock.monotonic_ns() + kLookAtFilesNs;
  next_sweep_ns_ = kNever;
  while (true) {
    int64_t now_ns = clock.monotonic_ns();
    if (drain_until_ns_ != 0 && (connections_.empty() || now_ns >= drain_until_ns_)) break;
    listen_or_not();
    const int count = ::epoll_wait(epoll_.get(), events, std::size(events), wait_ms(now_ns));
    now_ns = clock.monotonic_ns();
    std::vector<uint64_t> again;
    again.swap(again_);
    for (int i = 0; i < count; i++) {
      const uint64_t id = events[i].data.u64;
      if (id == kWakeId) read_mail(now_ns);
      else if (id == kListenerId) accept_all();
      else if ((events[i].events & (EPOLLHUP | EPOLLERR)) != 0) close(id);
      else step(id, now_ns);
    }
    for (const uint64_t id : again) step(id, now_ns);
    if (now_ns >= next_sweep_ns_) sweep(now_ns);
    if (drain_until_ns_ != 0 && now_ns >= next_drain_ns_) begin_drain(now_ns);
    if (shared_.tls != nullptr && listener_fd_ >= 0 && now_ns >= next_files_ns_) {
      next_files_ns_ = now_ns + kLookAtFilesNs;
      shared_.tls->reload_if_changed();
    }
  }
  connections_.clear();
}

}  // namespace tacho
