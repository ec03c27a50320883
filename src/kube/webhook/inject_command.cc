#include "kube/webhook/inject_command.h"

#include <malloc.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cstdio>

#include "base/log.h"
#include "base/units.h"
#include "http/server.h"
#include "kube/api/cluster_live.h"
#include "kube/api/command.h"
#include "kube/api/listen_address.h"
#include "kube/api/resource_watch.h"
#include "kube/api/side_port.h"
#include "kube/webhook/certificate_keeper.h"
#include "kube/webhook/image_store.h"
#include "kube/webhook/inject_flags.h"
#include "kube/webhook/look_times.h"
#include "kube/webhook/mutation.h"
#include "kube/webhook/webhook.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/signals.h"

namespace tacho {
namespace {

constexpr int64_t kLookNs = 12 * 3'600 * kNsPerSec;  // at certificates
constexpr int64_t kLookAgainNs = 10 * kNsPerSec;     // after a failure, and until a configuration is there
constexpr int64_t kLookAtKindsNs = 30 * kNsPerSec;   // in katib-config
constexpr int64_t kDrainMs = 10'000;

int64_t now_s() { return system_clock().realtime_ns() / kNsPerSec; }

class InjectService {
 public:
  explicit InjectService(InjectFlags flags) : flags_(std::move(flags)) {}
  int run();

 private:
  Status open(int signal_fd);
  Status open_webhook();
  Status listen(const std::string& address, Handler handler);
  void settle_addresses();
  void look_at_certificates();
  int64_t look_now();  // how long the next look has time
  void look_until_signal(int signal_fd);
  ServedResponse health(const ServedRequest& request) const;
  ServedResponse metrics(const ServedRequest& request) const;
  std::string why_not_ready() const;

  InjectFlags flags_;
  StopSignal configuration_changed_;  // raised by a thread of the cluster's
  std::unique_ptr<LiveCluster> cluster_;
  WebhookMetrics metrics_;
  std::unique_ptr<SettingsSource> settings_;
  std::unique_ptr<ImageStore> images_;
  std::unique_ptr<Mutation> mutation_;
  std::unique_ptr<WebhookEvents> events_;
  std::unique_ptr<Webhook> webhook_;
  std::unique_ptr<ClusterWriter> keeper_writer_;
  std::unique_ptr<CertificateKeeper> keeper_;
  std::vector<std::unique_ptr<HttpServer>> servers_;
  std::unique_ptr<HttpServer> hook_server_;
  std::atomic<bool> serving_ = false, trusted_ = false, stopping_ = false;
  std::atomic<int64_t> certificate_end_s_ = 0;
  LookTimes looks_;
};

std::string InjectService::why_not_ready() const {
  if (stopping_) return "stopping";
  if (!serving_) return "no certificate is loaded yet";
  if (!trusted_) return "the caBundle does not trust the certificate yet";
  if (!cluster_->synced()) return "the caches are not filled yet";
  return "";
}

ServedResponse InjectService::health(const ServedRequest& request) const {
  ServedResponse response;
  response.body = "ok\n";
  if (request.path == "/healthz") return response;
  if (request.path == "/readyz") {
    const std::string why = why_not_ready();
    if (!why.empty()) response.status = 503, response.body = why + "\n";
    return response;
  }
  response.status = 404;
  response.body = "there is /healthz and /readyz\n";
  return response;
}

ServedResponse InjectService::metrics(const ServedRequest& request) const {
  ServedResponse response;
  if (request.path != "/metrics") {
    response.status = 404;
    return response;
  }
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  std::string text = metrics_.text();
  text +=
      "# HELP tacho_webhook_cache_misses_total Objects that had to be asked for live.\n# TYPE "
      "tacho_webhook_cache_misses_total counter\n";
  for (const auto& [kind, count] : cluster_->cache_misses())
    text += "tacho_webhook_cache_misses_total{kind=\"" + kind + "\"} " + std::to_string(count) + "\n";
  std::string restarts =
      "# HELP tacho_watch_restarts_total Watches resumed.\n# TYPE tacho_watch_restarts_total counter\n";
  std::string relists =
      "# HELP tacho_watch_relists_total Lists read again.\n# TYPE tacho_watch_relists_total counter\n";
  for (const WatchCount& watch : cluster_->watch_counts()) {
    restarts +=
        "tacho_watch_restarts_total{resource=\"" + watch.resource + "\"} " + std::to_string(watch.restarts) + "\n";
    relists += "tacho_watch_relists_total{resource=\"" + watch.resource + "\"} " + std::to_string(watch.relists) + "\n";
  }
  text += restarts + relists;
  if (const int64_t end_s = certificate_end_s_; end_s != 0) {
    text +=
        "# HELP tacho_certificate_expiry_seconds How long the certificate in use is still good.\n# TYPE "
        "tacho_certificate_expiry_seconds gauge\n";
    text += "tacho_certificate_expiry_seconds " + std::to_string(end_s - now_s()) + "\n";
  }
  response.body = std::move(text);
  return response;
}

Status InjectService::listen(const std::string& address, Handler handler) {
  return open_side_port(address, std::move(handler), 64, servers_);
}

// What the command line leaves open is as katib-config says.
void InjectService::settle_addresses() {
  const auto settings = settings_->current(system_clock().monotonic_ns() + 2 * kNsPerSec);
  const KatibConfig& katib = settings->katib;
  if (flags_.listen.empty()) flags_.listen = ":" + std::to_string(katib.webhook_port);
  if (flags_.health_address.empty()) flags_.health_address = katib.healthz_address;
  if (flags_.metrics_address.empty()) flags_.metrics_address = katib.metrics_address;
  if (flags_.service.empty()) flags_.service = katib.webhook_service;
  if (flags_.secret.empty()) flags_.secret = "tacho-webhook-cert";
}

Status InjectService::open_webhook() {
  const Result<ListenAddress> where = parse_listen(flags_.listen);
  if (!where) return where.error();
  ServerOptions options;
  options.address = where->address;
  options.port = where->port;
  options.threads = flags_.threads;
  options.workers = flags_.workers;
  options.body_limit = kReviewLimit;
  options.connections = 2'000;
  options.tls = true;
  options.files = {flags_.cert_file, flags_.key_file, flags_.client_ca};
  Result<std::unique_ptr<HttpServer>> server =
      HttpServer::open(std::move(options), [this](const ServedRequest& request) { return webhook_->handle(request); });
  if (!server) return server.error();
  hook_server_ = std::move(*server);
  serving_ = true;
  std::fprintf(stderr, "tacho-katib inject: serving on port %u\n", unsigned{hook_server_->port()});
  return ok();
}

Status InjectService::open(int signal_fd) {
  if (flags_.core_namespace.empty()) flags_.core_namespace = core_namespace();
  ClusterOptions options;
  options.kubeconfig = flags_.kubeconfig;
  options.core_namespace = flags_.core_namespace;
  if (flags_.own_certificates) options.configurations = flags_.configurations;
  options.on_configuration = [this] { configuration_changed_.raise(); };
  Result<std::unique_ptr<LiveCluster>> cluster = LiveCluster::open(options);
  if (!cluster) return cluster.error();
  cluster_ = std::move(*cluster);
  settings_ = std::make_unique<SettingsSource>(*cluster_, flags_.core_namespace, flags_.image);
  ImageStoreOptions images;
  images.folder = flags_.image_cache;
  images.lookups = flags_.image_lookups;
  images.plain_registries = flags_.plain_registries;
  images_ = std::make_unique<ImageStore>(*cluster_, *cluster_, images, metrics_);
  cluster_->on_trial([this](std::shared_ptr<const std::string> trial) { images_->warm(std::move(trial)); });
  cluster_->start();
  settle_addresses();
  mutation_ = std::make_unique<Mutation>(*cluster_, *settings_, *images_, db_manager_address());
  events_ = std::make_unique<WebhookEvents>(*cluster_);
  webhook_ = std::make_unique<Webhook>(*mutation_, metrics_, events_.get(), flags_.deadline_ms);
  if (Status health_on =
          listen(flags_.health_address, [this](const ServedRequest& request) { return health(request); });
      !health_on)
    return health_on;
  if (Status metrics_on =
          listen(flags_.metrics_address, [this](const ServedRequest& request) { return metrics(request); });
      !metrics_on)
    return metrics_on;
  if (!flags_.own_certificates) {
    trusted_ = true;  // the user's own matter
    return open_webhook();
  }
  KeeperOptions keeper{flags_.core_namespace, flags_.secret,
                       service_names(flags_.service, flags_.core_namespace, flags_.extra_names), flags_.configurations,
                       flags_.cert_dir};
  // Whoever is to end does not wait for an API server first: reviews may be under way.
  keeper_writer_ = cluster_->writer(signal_fd);
  keeper_ = std::make_unique<CertificateKeeper>(*keeper_writer_, std::move(keeper));
  flags_.cert_file = flags_.cert_dir + "/tls.crt";
  flags_.key_file = flags_.cert_dir + "/tls.key";
  return ok();
}

void InjectService::look_at_certificates() {
  const int64_t realtime_ns = system_clock().realtime_ns(), now_ns = system_clock().monotonic_ns();
  looks_.looked(now_ns, realtime_ns, look_now());
}

int64_t InjectService::look_now() {
  if (!keeper_) {
    // Files of the user: the server watches them, and only their end is told.
    if (const Result<std::string> text = read_whole_file(flags_.cert_file)) {
      if (const Result<CertificateFacts> facts = read_certificate(*text)) certificate_end_s_ = facts->not_after_s;
    }
    return 60 * kNsPerSec;
  }
  const auto failed = [](const Error& error) { return log::warn(error.message()), kLookAgainNs; };
  const Result<bool> looked = keeper_->look(now_s());
  if (!looked) return failed(looked.error());
  certificate_end_s_ = keeper_->not_after_s();
  if (!hook_server_) {
    if (Status opened = open_webhook(); !opened) return failed(opened.error());
  } else if (*looked) {
    if (Status reloaded = hook_server_->reload(); !reloaded) return failed(reloaded.error());
  }
  trusted_ = keeper_->trusted();
  return keeper_->has_configurations() ? kLookNs : kLookAgainNs;
}

// A configuration that was installed again, or set back by whoever keeps manifests, has lost its caBundle: it is looked
// at when it changes, at most once a second. katib-config may name further kinds of jobs at any time.
void InjectService::look_until_signal(int signal_fd) {
  pollfd fds[] = {{signal_fd, POLLIN, 0}, {configuration_changed_.fd(), POLLIN, 0}};
  Clock& clock = system_clock();
  for (bool due = true;;) {
    if (due) {
      configuration_changed_.clear();
      look_at_certificates();
    }
    cluster_->watch_owners(settings_->current(clock.monotonic_ns() + kNsPerSec)->katib.trial_resources);
    const std::span<pollfd> signal_only(fds, 1);
    if (clock.wait(signal_only, clock.monotonic_ns() + kNsPerSec) != 0) return;
    const int ready = clock.wait(fds, std::min(looks_.next_ns(), clock.monotonic_ns() + kLookAtKindsNs));
    if (ready != 0 && fds[0].revents != 0) return;
    due = ready != 0 || looks_.due(clock.monotonic_ns(), clock.realtime_ns());
  }
}

int InjectService::run() {
  // A worker that only waits needs no memory of its own: with an arena for each, what they hold creeps up for hours.
  ::mallopt(M_ARENA_MAX, 2);
  const int ending[] = {SIGINT, SIGTERM};
  SignalQueue signals(ending);
  ignore_broken_pipes();
  if (Status opened = open(signals.fd()); !opened) {
    log::error(opened.error().message());
    return 1;
  }
  look_until_signal(signals.fd());
  signals.next();
  pollfd fds[] = {{signals.fd(), POLLIN, 0}};
  // First the endpoints of the Service forget us, while we still answer; then what runs is finished.
  stopping_ = true;
  if (hook_server_) hook_server_->announce_stop();
  system_clock().wait(fds, system_clock().monotonic_ns() + flags_.stop_delay_ms * kNsPerMs);
  if (hook_server_) hook_server_->stop(kDrainMs);
  for (const auto& server : servers_) server->stop(1'000);
  cluster_->stop();
  events_->stop();
  images_->stop();
  return 0;
}

}  // namespace

int inject_command(std::span<const std::string> words) {
  return run_command<InjectService>("inject", words, parse_inject_flags, inject_help);
}

}  // namespace tacho
