#include "http/server.h"

#include <algorithm>

#include "base/log.h"
#include "base/units.h"
#include "http/loop.h"
#include "http/workers.h"
#include "os/clock.h"
#include "os/listening_socket.h"
#include "os/signals.h"

namespace tacho {
namespace {

// So many more connections are taken if all are being answered.
int slack_of(int connections) { return connections / 8 + 1; }

class BeastServer final : public HttpServer {
 public:
  BeastServer(const ServerOptions& options, Handler handler, ListeningSocket bound, std::unique_ptr<TlsFiles> tls)
      : handler_(std::move(handler)),
        bound_(std::move(bound)),
        tls_(std::move(tls)),
        descriptors_(std::max(1, options.connections) + slack_of(std::max(1, options.connections))),
        budget_(32 * kMiB, std::max<int64_t>(8 * kMiB, static_cast<int64_t>(options.body_limit) * 16)) {
    shared_.rules = {options.head_ms,    options.body_ms, options.idle_ms,
                     options.body_limit, &budget_,        &shared_.last_answers};
    shared_.tls = tls_.get();
    const int wanted = std::max(1, options.connections), all = wanted + slack_of(wanted);
    shared_.connections_limit = descriptors_.count() >= all ? wanted : std::max(1, descriptors_.count() * 8 / 9 - 1);
    shared_.slack = slack_of(shared_.connections_limit);
    shared_.on_room = [this] { loops_[0]->listen_again(); };
    shared_.on_no_descriptor = [this] {
      for (const auto& loop : loops_) loop->make_room();
    };
    if (options.workers > 0) workers_ = std::make_unique<RequestWorkers>(options.workers, options.handled_bytes);
    shared_.handle = [this](Loop& loop, uint64_t connection, uint64_t number, ServedRequest&& request) {
      request.received_ns = system_clock().monotonic_ns();
      if (!workers_) return loop.answer_now(connection, number, answer_to(request));
      const size_t bytes = request.body.size();
      workers_->add(bytes,
                    [this, &loop, connection, number, request = std::make_shared<ServedRequest>(std::move(request))] {
                      loop.answer(connection, number, answer_to(*request));
                    });
    };
    for (int i = 0; i < std::max(1, options.threads); i++) loops_.push_back(std::make_unique<Loop>(shared_));
  }
  ~BeastServer() override { stop(0); }

  void start() {
    for (const auto& loop : loops_) loop->start();
    loops_[0]->listen(bound_.fd.get(), [this](Fd client) {
      // To the loop with the fewest; where there are too many, to that with the most, which has one to let go.
      const auto less = [](const auto& a, const auto& b) { return a->load() < b->load(); };
      const bool full = shared_.connections.load() > shared_.connections_limit;
      const auto loop = full ? std::max_element(loops_.begin(), loops_.end(), less)
                             : std::min_element(loops_.begin(), loops_.end(), less);
      (*loop)->adopt(std::move(client));
    });
    started_ = true;
  }
  uint16_t port() const override { return bound_.port; }

  void stop(int64_t drain_ms) override {
    const std::lock_guard lock(stopping_);
    if (!started_) return;
    started_ = false;
    const int64_t until_ns = system_clock().monotonic_ns() + std::max<int64_t>(0, drain_ms) * kNsPerMs;
    shared_.last_answers = true;
    loops_[0]->stop_listening();  // first: what it still takes is handed to the others before they end
    for (const auto& loop : loops_) loop->drain(until_ns);
    for (const auto& loop : loops_) loop->join();
    if (workers_) workers_->stop();  // their loops still exist, so that a late answer has where to go
    bound_.fd.reset();
  }

  void announce_stop() override { shared_.last_answers = true; }
  Status reload() override { return tls_ ? tls_->reload() : ok(); }

 private:
  ServedResponse answer_to(const ServedRequest& request) {
    try {
      return handler_(request);
    } catch (const std::exception& error) {
      log::warn(std::string("a request could not be worked on: ") + error.what());
    } catch (...) { log::warn("a request could not be worked on"); }
    ServedResponse failed;
    failed.status = 500;
    failed.body = "this could not be worked on\n";
    return failed;
  }

  Handler handler_;
  ListeningSocket bound_;
  std::unique_ptr<TlsFiles> tls_;
  const ReservedDescriptors descriptors_;
  BodyBudget budget_;
  Loop::Shared shared_;
  std::vector<std::unique_ptr<Loop>> loops_;
  std::unique_ptr<RequestWorkers> workers_;
  std::mutex stopping_;
  bool started_ = false;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::open(ServerOptions options, Handler handler) {
  ignore_broken_pipes();  // OpenSSL writes without MSG_NOSIGNAL
  std::unique_ptr<TlsFiles> tls;
  if (options.tls) {
    Result<std::unique_ptr<TlsFiles>> opened = TlsFiles::open(options.files);
    if (!opened) return opened.error();
    tls = std::move(*opened);
  }
  Result<ListeningSocket> bound = listen_on(options.address, options.port);
  if (!bound) return bound.error();
  auto server = std::make_unique<BeastServer>(options, std::move(handler), std::move(*bound), std::move(tls));
  server->start();
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace tacho
