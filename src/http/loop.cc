#include "http/loop.h"

#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <chrono>
#include <future>
#include <unordered_map>

#include "base/log.h"
#include "base/units.h"
#include "os/clock.h"
#include "os/listening_socket.h"

namespace tacho {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Executor = asio::io_context::executor_type;
using Descriptor = asio::posix::basic_stream_descriptor<Executor>;
using Timer =
    asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>, Executor>;

constexpr auto kLookAtFiles = std::chrono::seconds(5);
constexpr auto kPause = std::chrono::milliseconds(20);
constexpr int kAcceptedAtOnce = 64;  // then the connections have their turn

// A connection with what Asio waits for.
struct Peer {
  Peer(asio::io_context& context, Fd fd, SSL_CTX* tls, const Connection::Rules& rules, Protocol::Dispatch dispatch,
       std::function<void()> wake, int64_t now_ns)
      : watch(context), connection(std::move(fd), tls, rules, std::move(dispatch), std::move(wake), now_ns) {}
  ~Peer() {
    if (watch.is_open()) watch.release();  // the connection closes the descriptor
  }
  Descriptor watch;
  Connection connection;
  bool reading = false, writing = false;
};

}  // namespace

struct Loop::Core {
  Core(Loop& loop, Shared& shared) : self(loop), shared(shared) {}
  void run();
  void adopt(Fd client);
  void step(uint64_t id, int64_t now_ns);
  void wait_for(uint64_t id, Peer& peer, Descriptor::wait_type what, bool Peer::*flag);
  void close(uint64_t id);
  bool close_longest_waiting(uint64_t but);
  void listen_or_not();
  bool accept_some();
  void pause_listening();
  void count_out();  // a connection that was counted is gone
  void set_sweep(int64_t at_ns);
  void sweep(int64_t now_ns);  // whose time is up
  void step_all(int64_t now_ns);
  void look_at_files();
  void begin_drain(int64_t until_ns);
  void end_if_drained();

  Loop& self;
  Shared& shared;
  asio::io_context context{1};
  asio::executor_work_guard<Executor> work{context.get_executor()};
  Descriptor listener{context};
  bool waits_for_clients = false, pausing = false;
  std::function<void(Fd)> accepted;
  Timer sweep_timer{context}, files_timer{context}, pause_timer{context}, drain_timer{context};
  int64_t sweep_at_ns = kNever;
  std::unordered_map<uint64_t, std::unique_ptr<Peer>> peers;
  uint64_t next_id = 1;
  bool draining = false;
};

Loop::Loop(Shared& shared) : shared_(shared), core_(std::make_unique<Core>(*this, shared)) {}
Loop::~Loop() {
  core_->context.stop();
  join();
}

void Loop::start() {
  // Signals are for the program's own thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  thread_ = std::thread([this] { core_->run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Loop::join() {
  if (thread_.joinable()) thread_.join();
}

void Loop::listen(int listener_fd, std::function<void(Fd)> accepted) {
  asio::post(core_->context, [core = core_.get(), listener_fd, accepted = std::move(accepted)]() mutable {
    core->accepted = std::move(accepted);
    error_code error;
    core->listener.assign(listener_fd, error);
    if (error) log::error("cannot wait for clients: " + error.message());
    if (core->shared.tls != nullptr) core->look_at_files();
    core->listen_or_not();
  });
}

void Loop::stop_listening() {
  std::promise<void> done;
  asio::post(core_->context, [core = core_.get(), &done] {
    // Whoever is in the queue has been told that we are there.
    while (core->listener.is_open() && core->accept_some()) {}
    if (core->listener.is_open()) {
      ::shutdown(core->listener.native_handle(), SHUT_RDWR);
      core->listener.release();
    }
    done.set_value();
  });
  done.get_future().wait();
}

void Loop::adopt(Fd client) {
  load_.fetch_add(1, std::memory_order_relaxed);
  asio::post(core_->context,
             [core = core_.get(), client = std::move(client)]() mutable { core->adopt(std::move(client)); });
}

void Loop::answer(uint64_t connection, uint64_t number, ServedResponse&& response) {
  asio::post(core_->context, [this, connection, number, response = std::move(response)]() mutable {
    answer_now(connection, number, std::move(response));
    core_->step(connection, system_clock().monotonic_ns());
  });
}

void Loop::answer_now(uint64_t connection, uint64_t number, ServedResponse&& response) {
  if (const auto found = core_->peers.find(connection); found != core_->peers.end())
    found->second->connection.respond(number, std::move(response));
}

void Loop::listen_again() {
  asio::post(core_->context, [core = core_.get()] { core->listen_or_not(); });
}

void Loop::make_room() {
  asio::post(core_->context, [core = core_.get()] { core->close_longest_waiting(0); });
}

void Loop::drain(int64_t until_ns) {
  asio::post(core_->context, [core = core_.get(), until_ns] { core->begin_drain(until_ns); });
}

void Loop::Core::run() {
  while (!context.stopped()) {
    try {
      context.run();
    } catch (const std::exception& error) {
      // No memory, most likely: whoever asked for it goes without, the others are served on.
      log::warn(std::string("a step of the server failed: ") + error.what());
    }
  }
  peers.clear();
}

void Loop::Core::adopt(Fd client) {
  const int64_t now_ns = system_clock().monotonic_ns();
  const uint64_t id = next_id++;
  error_code error;
  try {
    const std::shared_ptr<SSL_CTX> tls = shared.tls != nullptr ? shared.tls->context() : nullptr;
    const int fd = client.get();
    auto peer = std::make_unique<Peer>(
        context, std::move(client), tls.get(), shared.rules,
        [this, id](uint64_t number, ServedRequest&& request) { shared.handle(self, id, number, std::move(request)); },
        [this, id] { asio::post(context, [this, id] { step(id, system_clock().monotonic_ns()); }); }, now_ns);
    peer->watch.assign(fd, error);
    if (draining) peer->connection.drain();
    peers.emplace(id, std::move(peer));
  } catch (...) {  // no memory: it is no client, and nobody waits for it
    count_out();
    throw;
  }
  if (error) return close(id);
  if (shared.connections.load() > shared.connections_limit) close_longest_waiting(id);
  step(id, now_ns);
}

void Loop::Core::step(uint64_t id, int64_t now_ns) {
  const auto found = peers.find(id);
  if (found == peers.end()) return;
  Peer& peer = *found->second;
  Connection::Wish wish;
  try {
    wish = peer.connection.step(now_ns);
  } catch (const std::exception& error) {
    log::warn(std::string("a connection was given up: ") + error.what());
    wish.close = true;
  }
  if (wish.close) return close(id);
  set_sweep(wish.deadline_ns);
  if (wish.again) return asio::post(context, [this, id] { step(id, system_clock().monotonic_ns()); });
  if (wish.read && !peer.reading) wait_for(id, peer, Descriptor::wait_read, &Peer::reading);
  if (wish.write && !peer.writing) wait_for(id, peer, Descriptor::wait_write, &Peer::writing);
}

void Loop::Core::wait_for(uint64_t id, Peer& peer, Descriptor::wait_type what, bool Peer::*flag) {
  peer.*flag = true;
  peer.watch.async_wait(what, [this, id, flag](const error_code& error) {
    const auto found = peers.find(id);
    if (error == asio::error::operation_aborted || found == peers.end()) return;
    (*found->second).*flag = false;
    step(id, system_clock().monotonic_ns());
  });
}

void Loop::Core::close(uint64_t id) {
  if (peers.erase(id) != 0) count_out();
}

void Loop::Core::count_out() {
  self.load_.fetch_sub(1, std::memory_order_relaxed);
  if (shared.connections.fetch_sub(1) == shared.connections_limit + shared.slack) shared.on_room();
  end_if_drained();
}

bool Loop::Core::close_longest_waiting(uint64_t but) {
  uint64_t oldest = 0;
  int64_t since_ns = kNever;
  for (const auto& [id, peer] : peers) {
    if (id == but) continue;
    const int64_t this_ns = peer->connection.waits_since_ns();
    if (this_ns < since_ns || (this_ns == since_ns && this_ns != kNever && id < oldest))
      oldest = id, since_ns = this_ns;
  }
  if (oldest == 0) return false;
  close(oldest);
  return true;
}

void Loop::Core::listen_or_not() {
  if (!listener.is_open() || waits_for_clients || pausing) return;
  if (shared.connections.load() >= shared.connections_limit + shared.slack) return;  // on_room calls again
  waits_for_clients = true;
  listener.async_wait(Descriptor::wait_read, [this](const error_code& error) {
    waits_for_clients = false;
    if (error) return;
    accept_some();
    listen_or_not();
  });
}

// True: there may be more.
bool Loop::Core::accept_some() {
  for (int i = 0; i < kAcceptedAtOnce; ++i) {
    if (shared.connections.load() >= shared.connections_limit + shared.slack) return false;
    Fd client(::accept4(listener.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!client) {
      if (lacks_room(errno)) {
        log::warn(kNoDescriptor);
        shared.on_no_descriptor();
        pause_listening();
        return false;
      }
      if (errno == EINTR || errno == ECONNABORTED) continue;
      return false;
    }
    shared.connections.fetch_add(1);
    accepted(std::move(client));
  }
  return true;
}

// The client stays in the kernel's queue, which would tell of it at once again.
void Loop::Core::pause_listening() {
  pausing = true;
  pause_timer.expires_after(kPause);
  pause_timer.async_wait([this](const error_code& error) {
    pausing = false;
    if (!error) listen_or_not();
  });
}

// One timer for all deadlines: it is set anew for an earlier one alone.
void Loop::Core::set_sweep(int64_t at_ns) {
  if (at_ns >= sweep_at_ns) return;
  sweep_at_ns = at_ns;
  // Not for each of many deadlines that lie close together.
  const int64_t in_ns = std::max<int64_t>(at_ns - system_clock().monotonic_ns(), 0) + 10 * kNsPerMs;
  sweep_timer.expires_after(std::chrono::nanoseconds(in_ns));
  sweep_timer.async_wait([this](const error_code& error) {
    if (!error) sweep(system_clock().monotonic_ns());
  });
}

void Loop::Core::sweep(int64_t now_ns) {
  sweep_at_ns = kNever;
  std::vector<uint64_t> late;
  int64_t next_ns = kNever;
  for (const auto& [id, peer] : peers) {
    const int64_t deadline_ns = peer->connection.deadline_ns();
    if (deadline_ns <= now_ns) late.push_back(id);
    else next_ns = std::min(next_ns, deadline_ns);
  }
  for (const uint64_t id : late) step(id, now_ns);
  if (next_ns != kNever) set_sweep(next_ns);
}

void Loop::Core::step_all(int64_t now_ns) {
  std::vector<uint64_t> ids;
  ids.reserve(peers.size());
  for (const auto& [id, peer] : peers) ids.push_back(id);
  for (const uint64_t id : ids) step(id, now_ns);
}

void Loop::Core::look_at_files() {
  files_timer.expires_after(kLookAtFiles);
  files_timer.async_wait([this](const error_code& error) {
    if (error) return;
    shared.tls->reload_if_changed();
    look_at_files();
  });
}

void Loop::Core::begin_drain(int64_t until_ns) {
  draining = true;
  for (const auto& [id, peer] : peers) peer->connection.drain();
  drain_timer.expires_after(std::chrono::nanoseconds(std::max<int64_t>(0, until_ns - system_clock().monotonic_ns())));
  drain_timer.async_wait([this](const error_code& error) {
    if (!error) context.stop();
  });
  step_all(system_clock().monotonic_ns());
  end_if_drained();
}

// Not by `peers`: a client that was taken from the kernel's queue may still wait behind this step to become one.
void Loop::Core::end_if_drained() {
  if (draining && self.load() == 0) context.stop();
}

}  // namespace tacho
