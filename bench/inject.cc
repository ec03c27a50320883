// The webhook under load: reviews a second over 200 TLS connections, the 99th percentile at half that load, and its
// memory before and after. The server with warm caches is this process; the load comes from a child, which has to share
// the cores with it.
//   bench_inject FIXTURE.json CONFIG.json REVIEWS
//   bench_inject --load PORT FIXTURE.json REVIEWS PID      the load alone, at another server; PID is that server's
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>

#include "kube/webhook/certificates.h"
#include "kube/webhook/webhook.h"
#include "os/clock.h"
#include "os/file.h"
#include "review_load.h"
#include "support/temp_dir.h"

namespace {

using namespace tacho;

class TableCluster : public Cluster {
 public:
  void put(const Json& object) {
    objects_[text_at(object, {"kind"}) + "/" + text_at(object, {"metadata", "namespace"}) + "/" +
             text_at(object, {"metadata", "name"})] = std::make_shared<const std::string>(dump_json(object));
  }
  Lookup get(const ObjectKey& key, int64_t) override {
    const auto found = objects_.find(key.kind + "/" + key.ns + "/" + key.name);
    if (found == objects_.end()) return {Lookup::State::absent, nullptr, ""};
    return {Lookup::State::found, found->second, ""};
  }
  Lookup get_now(const ObjectKey& key, int64_t deadline_ns) override { return get(key, deadline_ns); }
  bool synced() const override { return true; }
  int server_minor() const override { return 30; }
  void on_trial(std::function<void(std::shared_ptr<const std::string>)>) override {}

 private:
  std::map<std::string, std::shared_ptr<const std::string>> objects_;
};

class NoImages : public ImageCommands {
 public:
  std::optional<ImageCommand> find(const std::string&, const std::string&, int64_t) override { return std::nullopt; }
};

long rss_kib() {
  const auto text = read_whole_file("/proc/self/status");
  const size_t at = text ? text->find("VmRSS:") : std::string::npos;
  return at == std::string::npos ? 0 : std::strtol(text->c_str() + at + 6, nullptr, 10);
}

Json load(const char* path) {
  const auto text = read_whole_file(path);
  return text ? Json::parse(*text) : Json();
}

int generate(int from, int to, const std::string& body, int64_t reviews) {
  uint16_t port = 0;
  if (::read(from, &port, sizeof port) != sizeof port) return 1;
  const auto phase = [&](int64_t count, double rate) { return run_load({port, body, 200, count, rate}); };
  const auto done = [&](char step) {  // the server measures its memory now
    char go = 0;
    return ::write(to, &step, 1) == 1 && ::read(from, &go, 1) == 1;
  };
  if (phase(reviews / 20, 0).failed != 0 || !done('w')) return 1;
  const LoadResult full = phase(reviews, 0);
  if (!done('f')) return 1;
  const double rate = static_cast<double>(full.answered) / full.seconds;
  const LoadResult half = phase(static_cast<int64_t>(rate / 2 * 10), rate / 2);
  const LoadResult fixed = phase(25'000, 2'500);
  std::printf(
      "\"reviews\": %ld, \"failed\": %ld, \"per_second\": %.0f, \"half_p50_ms\": %.2f, \"half_p99_ms\": %.2f, "
      "\"at_2500_p50_ms\": %.2f, \"at_2500_p99_ms\": %.2f",
      static_cast<long>(full.answered), static_cast<long>(full.failed + half.failed + fixed.failed), rate,
      static_cast<double>(half.percentile_ns(0.5)) / 1e6, static_cast<double>(half.percentile_ns(0.99)) / 1e6,
      static_cast<double>(fixed.percentile_ns(0.5)) / 1e6, static_cast<double>(fixed.percentile_ns(0.99)) / 1e6);
  std::fflush(stdout);
  return done('e') ? 0 : 1;
}

// CPU time of all threads of a process.
double cpu_us(pid_t pid) {
  clockid_t clock = 0;
  timespec used{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return 0;
  return static_cast<double>(used.tv_sec) * 1e6 + static_cast<double>(used.tv_nsec) / 1e3;
}

std::string review_of(const Json& pod) {
  Json review = {{"apiVersion", "admission.k8s.io/v1"}, {"kind", "AdmissionReview"}};
  review["request"] = {{"uid", "u"},
                       {"namespace", "team"},
                       {"operation", "CREATE"},
                       {"resource", {{"group", ""}, {"version", "v1"}, {"resource", "pods"}}},
                       {"kind", {{"group", ""}, {"version", "v1"}, {"kind", "Pod"}}}};
  review["request"]["object"] = pod;
  return dump_json(review);
}

int load_other(uint16_t port, const std::string& body, int64_t reviews, pid_t server) {
  if (run_load({port, body, 200, 2'000, 0}).failed != 0) return 1;
  const double before_us = cpu_us(server);
  const LoadResult full = run_load({port, body, 200, reviews, 0});
  const double answered = static_cast<double>(full.answered);
  std::printf("{\"per_second\": %.0f, \"cpu_us\": %.1f, \"failed\": %ld}\n", answered / full.seconds,
              (cpu_us(server) - before_us) / answered, static_cast<long>(full.failed));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 6 && std::string_view(argv[1]) == "--load")
    return load_other(static_cast<uint16_t>(std::atoi(argv[2])), review_of(load(argv[3])["pod"]), std::atoll(argv[4]),
                      std::atoi(argv[5]));
  if (argc != 4) return std::fprintf(stderr, "usage: bench_inject FIXTURE CONFIG REVIEWS\n"), 2;
  const Json parts = load(argv[1]);
  const std::string review = review_of(parts["pod"]);
  int to_child[2], to_parent[2];
  if (::pipe(to_child) != 0 || ::pipe(to_parent) != 0) return 1;
  std::printf("{");
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::_Exit(generate(to_child[0], to_parent[1], review, std::atoll(argv[3])));
  }
  TableCluster cluster;
  for (const char* key : {"trial", "job", "suggestion"}) cluster.put(parts[key]);
  cluster.put(load(argv[2]));
  cluster.put(Json::parse(
      R"({"kind":"Namespace","metadata":{"name":"team","labels":{"katib.kubeflow.org/metrics-collector-injection":"enabled"}}})"));
  const TempDir folder;
  const int64_t now_s = system_clock().realtime_ns() / 1'000'000'000;
  const auto ca = make_ca(now_s);
  const auto pair = issue_certificate(*ca, {"localhost", "127.0.0.1"}, now_s);
  if (!write_file_atomically(folder / "tls.crt", pair->certificate) ||
      !write_file_atomically(folder / "tls.key", pair->key))
    return 1;
  NoImages images;
  SettingsSource settings(cluster, "kubeflow", "");
  Mutation mutation(cluster, settings, images, "katib-db-manager.kubeflow:6789");
  WebhookMetrics metrics;
  Webhook webhook(mutation, metrics, nullptr, 2'000);
  ServerOptions options;
  options.address = "127.0.0.1";
  options.threads = 2;
  options.workers = 32;
  options.body_limit = kReviewLimit;
  options.tls = true;
  options.files = {folder / "tls.crt", folder / "tls.key", ""};
  auto server = HttpServer::open(options, [&](const ServedRequest& request) { return webhook.handle(request); });
  if (!server) return std::fprintf(stderr, "%s\n", server.error().message().c_str()), 1;
  const uint16_t port = (*server)->port();
  if (::write(to_child[1], &port, sizeof port) != sizeof port) return 1;
  long warm = 0, after = 0;
  double used_us = 0;
  char step = 0;
  while (step != 'e' && ::read(to_parent[0], &step, 1) == 1) {
    (step == 'w' ? warm : after) = rss_kib();
    if (step == 'w') used_us = -cpu_us(::getpid());
    if (step == 'f') used_us += cpu_us(::getpid());
    if (::write(to_child[1], &step, 1) != 1) break;
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  (*server)->stop(1'000);
  std::printf(", \"cpu_us\": %.1f, \"rss_warm_kib\": %ld, \"rss_after_kib\": %ld}\n", used_us / std::atof(argv[3]),
              warm, after);
  return status == 0 ? 0 : 1;
}
