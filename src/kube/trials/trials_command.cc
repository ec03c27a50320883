#include "kube/trials/trials_command.h"

#include <malloc.h>
#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "http/server.h"
#include "kube/api/command.h"
#include "kube/api/katib_config.h"
#include "kube/api/leader.h"
#include "kube/api/listen_address.h"
#include "kube/api/side_port.h"
#include "kube/trials/trials_controller.h"
#include "kube/trials/trials_flags.h"
#include "os/clock.h"
#include "os/environment.h"
#include "os/identity.h"
#include "os/signals.h"
#include "os/unique.h"

namespace tacho {
namespace {

constexpr int64_t kDrainMs = 1'000, kHaltMs = 2'000;
constexpr int64_t kConfigMs = 2'000;

std::string own_identity() {
  const std::string name = environment_or("POD_NAME", host_name());
  return (name.empty() ? "tacho-katib" : name) + "_" + random_hex(8);
}

// The lease of a katib-controller beside us, which may have another name than the usual one: never both act.
std::string katib_lease(const std::shared_ptr<ApiServer>& server, const std::string& ns, const std::string& usual) {
  ApiClient client(server, -1);
  ApiRequest request{.path = api_path("v1", "configmaps", ns, "katib-config"), .total_ms = kConfigMs, .wait_ms = 0};
  const ApiAnswer answer = client.send(request);
  if (answer.not_found()) return usual;
  std::string why = answer.text();
  if (const std::optional<Json> found = answer.ok() ? parse_json(answer.body) : std::nullopt) {
    const std::string yaml = text_at(*found, {"data", "katib-config.yaml"});
    const Result<KatibConfig> config = yaml.empty() ? KatibConfig{} : parse_katib_config(yaml);
    if (config) return config->leader_election_id;
    why = config.error().message();
  }
  log::warn("katib-config could not be read, so the lease is " + usual +
            "; name another with --lease if katib-controller has one: " + why);
  return usual;
}

class TrialsService {
 public:
  explicit TrialsService(TrialsFlags flags) : flags_(std::move(flags)), db_(flags_.db) {}
  int run();

 private:
  Status open();
  Status listen(const std::string& address, Handler handler);
  ServedResponse health(const ServedRequest& request) const;

  TrialsFlags flags_;
  DbClient db_;
  TrialsMetrics metrics_;
  StopSignal lease_stop_, lost_;
  std::unique_ptr<TrialsController> controller_;
  std::unique_ptr<Leader> leader_;
  std::vector<std::unique_ptr<HttpServer>> servers_;
};

ServedResponse TrialsService::health(const ServedRequest& request) const {
  ServedResponse response;
  if (request.path == "/healthz") {
    response.body = "ok\n";
  } else if (request.path == "/readyz") {
    const bool ready = controller_->synced();
    response.status = ready ? 200 : 503;
    response.body = ready ? "ok\n" : "the caches are not filled yet\n";
  } else {
    response.status = 404;
    response.body = "there is /healthz and /readyz\n";
  }
  return response;
}

Status TrialsService::listen(const std::string& address, Handler handler) {
  return open_side_port(address, std::move(handler), 1'000, servers_);
}

Status TrialsService::open() {
  Result<std::shared_ptr<ApiServer>> server = ApiServer::open(flags_.kubeconfig);
  if (!server) return server.error();
  ControllerOptions options;
  options.settings = {flags_.mode == "own", flags_.metrics_wait_ms, flags_.page_after_s};
  options.ns = flags_.watch_namespace;
  options.kinds = flags_.kinds;
  options.workers = flags_.workers;
  options.resync_s = flags_.resync_s;
  options.watch_timeout_s = flags_.watch_timeout_s;
  options.idle_watch_ms = flags_.idle_watch_ms;
  const auto may_write = [this] { return leader_ == nullptr || leader_->leads(); };
  controller_ = std::make_unique<TrialsController>(*server, std::move(options), db_, metrics_, may_write);
  if (flags_.leader_elect) {
    LeaderOptions lease;
    lease.ns = flags_.core_namespace;
    if (flags_.mode == "own" && !flags_.lease_given)
      flags_.lease = katib_lease(*server, flags_.core_namespace, flags_.lease);
    lease.name = flags_.lease;
    lease.identity = flags_.identity.empty() ? own_identity() : flags_.identity;
    const auto lead = [this, identity = lease.identity] {
      std::fprintf(stderr, "tacho-katib trials: %s leads\n", identity.c_str());
      controller_->start_workers();
    };
    leader_ = std::make_unique<Leader>(*server, lease_stop_.fd(), std::move(lease), lead, [this] { lost_.raise(); });
  }
  if (const Status good =
          listen(flags_.health_address, [this](const ServedRequest& request) { return health(request); });
      !good)
    return good;
  return listen(flags_.metrics_address, [this](const ServedRequest& request) {
    ServedResponse response;
    if (request.path != "/metrics") {
      response.status = 404;
      return response;
    }
    response.content_type = "text/plain; version=0.0.4; charset=utf-8";
    response.body =
        metrics_.text(flags_.mode == "own", leader_ == nullptr || leader_->leads(), controller_->watch_counts());
    return response;
  });
}

int TrialsService::run() {
  ::mallopt(M_ARENA_MAX, 2);  // a dozen threads that mostly sleep need no memory of their own
  const int ending[] = {SIGINT, SIGTERM};
  SignalQueue signals(ending);
  ignore_broken_pipes();
  if (const Status opened = open(); !opened) {
    log::error(opened.error().message());
    return 1;
  }
  controller_->start_watches();
  if (leader_) leader_->start();
  else controller_->start_workers();

  pollfd fds[] = {{signals.fd(), POLLIN, 0}, {lost_.fd(), POLLIN, 0}};
  while (system_clock().wait(fds, INT64_MAX) == 0) {}
  const bool lost = lost_.raised();
  // First the workers, then the lease: whoever takes it finds nobody writing any more. A worker that waits for the DB
  // manager writes nothing to the API server from here on, and is not waited for: the next leader is.
  const bool idle = controller_->halt(kHaltMs);
  lease_stop_.raise();
  if (leader_) leader_->join();
  for (const auto& server : servers_) server->stop(kDrainMs);
  if (!idle && !controller_->halt(kHaltMs)) ::_exit(lost ? 1 : 0);
  controller_->stop();
  return lost ? 1 : 0;
}

}  // namespace

int trials_command(std::span<const std::string> words) {
  return run_command<TrialsService>("trials", words, parse_trials_flags, trials_help);
}

}  // namespace tacho
