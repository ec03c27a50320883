#include "kube/api/cluster_live.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <unordered_map>

#include "base/backoff.h"
#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "kube/api/live_writer.h"
#include "kube/api/object.h"
#include "kube/api/resource_watch.h"
#include "os/clock.h"

namespace tacho {
namespace {

constexpr int64_t kGetMs = 500;
constexpr int64_t kFoundNs = 5 * kNsPerSec, kAbsentNs = kNsPerSec;  // how long the answer of a live Get holds
constexpr size_t kAnswers = 4096, kMissKinds = 100;
// Of reviews together, beside what a single one may ask for: pods that name owners which nobody knows must not become a
// load on the API server.
constexpr double kLookupsPerSecond = 200, kLookupBurst = 400;
constexpr size_t kFurther = 32;  // kinds that katib-config may name

bool is_kind(std::string_view text) {
  const auto fits = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !text.empty() && text.size() <= 63 && std::all_of(text.begin(), text.end(), fits);
}

std::string answer_id(const ObjectKey& key) {
  return key.api_version + " " + key.kind + " " + object_key(key.ns, key.name);
}

// Of an owner only the way up and its shape count; of one that no controller owns, that it is there.
void trim_owner(Json& object) {
  object.erase("status");
  if (!owners_of(object).empty()) return;
  object.erase("spec");
  Json metadata = Json::object();
  for (const char* key : {"name", "namespace", "uid", "resourceVersion"}) {
    if (const Json* value = find(object, {"metadata", key})) metadata[key] = *value;
  }
  object["metadata"] = std::move(metadata);
}

class Live : public LiveCluster {
 public:
  Live(ClusterOptions options, std::shared_ptr<ApiServer> server)
      : options_(std::move(options)), server_(std::move(server)) {
    WatchOptions trials;
    trials.on_put = [this](const std::string&, const CachedObject& now) {
      if (seen_) seen_(now.json);
    };
    trials.trim = [](Json& object) { object.erase("status"); };
    add({"kubeflow.org/v1beta1", "Trial"}, "", std::move(trials));
    add({"kubeflow.org/v1beta1", "Suggestion"}, "", {});
    add({"kubeflow.org/v1beta1", "Experiment"}, "", {});
    WatchOptions namespaces;
    namespaces.trim = [](Json& object) { object.erase("spec"), object.erase("status"); };
    add({"v1", "Namespace"}, "", std::move(namespaces));
    WatchOptions configs;
    configs.wanted = [](const Json& object) {
      const std::string name = text_at(object, {"metadata", "name"});
      return name == "katib-config" || name == "tacho-config";
    };
    add({"v1", "ConfigMap"}, options_.core_namespace, std::move(configs));
    needed_ = watches_.size();
    for (KindName& kind : usual_job_kinds(true)) {
      WatchOptions owners;
      owners.trim = trim_owner;
      add(std::move(kind), "", std::move(owners));
    }
    for (const std::string& name : options_.configurations) {
      for (const char* hooks : {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"})
        add_configuration(hooks, name);
    }
  }
  void add_configuration(const char* kind, const std::string& name) {
    WatchOptions options;
    options.timeout_s = options_.watch_timeout_s;
    options.selector = "&fieldSelector=" + percent_encode("metadata.name=" + name, false);
    options.on_put = [this](const std::string&, const CachedObject&) { options_.on_configuration(); };
    configurations_.push_back(std::make_unique<ResourceWatch>(
        server_, discovery_, stop_.fd(), KindName{"admissionregistration.k8s.io/v1", kind}, "", std::move(options)));
  }
  ~Live() override {
    stop_.raise();
    if (version_thread_.joinable()) version_thread_.join();
  }

  void start() override {
    for (const auto& watch : watches_) watch->start();
    for (const auto& watch : configurations_) watch->start();
    version_thread_ = std::thread([this] { read_version(); });
  }
  void watch_owners(const std::vector<std::string>& trial_resources) override;
  void on_trial(std::function<void(std::shared_ptr<const std::string>)> seen) override { seen_ = std::move(seen); }
  // Owners that may not be listed are asked for one by one; without Trials, namespaces and settings nothing goes.
  bool synced() const override {
    for (size_t i = 0; i < watches_.size(); ++i) {
      if (!watches_[i]->settled() && !(i >= needed_ && watches_[i]->refused())) return false;
    }
    return true;
  }
  int server_minor() const override { return minor_; }
  std::vector<WatchCount> watch_counts() const override {
    std::vector<WatchCount> counts;
    for (const auto& entry : watches_) {
      if (const Watch* watch = entry->watch())
        counts.push_back({watch->resource(), watch->restarts(), watch->relists(), watch->cache().size()});
    }
    return counts;
  }
  std::map<std::string, uint64_t> cache_misses() const override {
    const std::lock_guard lock(mutex_);
    return misses_;
  }
  void stop() override { stop_.raise(); }

  Lookup get(const ObjectKey& key, int64_t deadline_ns) override;
  Lookup get_now(const ObjectKey& key, int64_t deadline_ns) override;
  Lookup read(const ObjectKey& key) override {
    return with_writer([&](LiveWriter& writer) { return writer.read(key); });
  }
  Written create(const ObjectKey& key, std::string_view json) override {
    return with_writer([&](LiveWriter& writer) { return writer.create(key, json); });
  }
  Written replace(const ObjectKey& key, std::string_view json) override {
    return with_writer([&](LiveWriter& writer) { return writer.replace(key, json); });
  }
  Written patch(const ObjectKey& key, std::string_view patch) override {
    return with_writer([&](LiveWriter& writer) { return writer.patch(key, patch); });
  }
  std::unique_ptr<ClusterWriter> writer(int stop_fd) override {
    return std::make_unique<LiveWriter>(server_, discovery_, stop_fd);
  }

 private:
  struct Answer {
    Lookup lookup;
    int64_t until_ns = 0;
  };

  void add(KindName kind, const std::string& ns, WatchOptions options) {
    options.timeout_s = options_.watch_timeout_s;
    watches_.push_back(
        std::make_unique<ResourceWatch>(server_, discovery_, stop_.fd(), std::move(kind), ns, std::move(options)));
  }
  // One of a caller's own for the time of a request; its connections are kept for the next one.
  template <class Work>
  std::invoke_result_t<Work, LiveWriter&> with_writer(Work work) {
    std::unique_ptr<LiveWriter> writer;
    {
      const std::lock_guard lock(mutex_);
      if (!writers_.empty()) {
        writer = std::move(writers_.back());
        writers_.pop_back();
      }
    }
    if (!writer) writer = std::make_unique<LiveWriter>(server_, discovery_, stop_.fd());
    auto result = work(*writer);
    const std::lock_guard lock(mutex_);
    writers_.push_back(std::move(writer));
    return result;
  }
  void read_version();

  const ClusterOptions options_;
  std::shared_ptr<ApiServer> server_;
  std::shared_ptr<Discovery> discovery_ = std::make_shared<Discovery>();
  std::function<void(std::shared_ptr<const std::string>)> seen_;
  std::atomic<int> minor_{0};
  mutable std::mutex mutex_;
  std::map<std::string, uint64_t> misses_;  // by kind
  TokenBucket lookups_{kLookupsPerSecond, kLookupBurst};
  std::vector<std::unique_ptr<LiveWriter>> writers_;
  std::unordered_map<std::string, Answer> answers_;
  std::deque<std::string> answer_order_;
  StopSignal stop_;
  size_t needed_ = 0;  // so many of watches_, from the first on, have to be filled
  std::vector<std::unique_ptr<ResourceWatch>> watches_, configurations_;  // their threads use what is above
  std::vector<std::unique_ptr<ResourceWatch>> further_;                   // under mutex_
  std::thread version_thread_;
};

void Live::watch_owners(const std::vector<std::string>& trial_resources) {
  const std::lock_guard lock(mutex_);
  for (const std::string& text : trial_resources) {
    const std::optional<KindName> kind = parse_kind(text);
    if (!kind) {
      log::warn("a trial resource is not of the form Kind.version.group and is left out: " + text);
      continue;
    }
    const auto same = [&](const auto& watch) { return watch->kind() == *kind; };
    if (std::any_of(watches_.begin(), watches_.end(), same) || std::any_of(further_.begin(), further_.end(), same))
      continue;
    if (further_.size() >= kFurther) {
      log::warn("katib-config names more than " + std::to_string(kFurther) +
                " kinds of jobs; the rest is asked for when a pod needs it");
      return;
    }
    WatchOptions owners;
    owners.timeout_s = options_.watch_timeout_s;
    owners.trim = trim_owner;
    further_.push_back(std::make_unique<ResourceWatch>(server_, discovery_, stop_.fd(), *kind, "", std::move(owners)));
    further_.back()->start();
  }
}

Lookup Live::get(const ObjectKey& key, int64_t deadline_ns) {
  const std::string name = object_key(key.ns, key.name);
  for (const auto& watch : watches_) {
    if (watch->kind().kind != key.kind || watch->kind().api_version != key.api_version) continue;
    if (CachedObject object = watch->get(name); object.json) return {Lookup::State::found, std::move(object.json), ""};
    // Settings that are not there are looked for every second: for them the watch's word is enough.
    if (key.kind == "ConfigMap" && watch->settled()) return {Lookup::State::absent, nullptr, ""};
  }
  const std::string id = answer_id(key);
  {
    const std::lock_guard lock(mutex_);
    for (const auto& watch : further_) {
      if (watch->kind() != KindName{key.api_version, key.kind}) continue;
      if (CachedObject object = watch->get(name); object.json)
        return {Lookup::State::found, std::move(object.json), ""};
    }
    const auto known = answers_.find(id);
    if (known != answers_.end() && known->second.until_ns > system_clock().monotonic_ns()) return known->second.lookup;
  }
  return get_now(key, deadline_ns);
}

Lookup Live::get_now(const ObjectKey& key, int64_t deadline_ns) {
  {
    const std::lock_guard lock(mutex_);
    // A reference may name any kind: what is none, and more of them than there can be, are counted as one.
    const bool usual = is_kind(key.kind) && (misses_.size() < kMissKinds || misses_.contains(key.kind));
    ++misses_[usual ? key.kind : "other"];
    if (!lookups_.try_take(system_clock().monotonic_ns()))
      return {Lookup::State::failed, nullptr, "too many objects are asked for at a time"};
  }
  Lookup lookup = with_writer([&](LiveWriter& writer) { return writer.get(key, deadline_ns, kGetMs); });
  if (lookup.state == Lookup::State::failed) return lookup;
  const std::lock_guard lock(mutex_);
  if (answers_.size() >= kAnswers) {
    answers_.erase(answer_order_.front());
    answer_order_.pop_front();
  }
  const std::string id = answer_id(key);
  const int64_t holds_ns = lookup.state == Lookup::State::found ? kFoundNs : kAbsentNs;
  if (answers_.insert_or_assign(id, Answer{lookup, system_clock().monotonic_ns() + holds_ns}).second)
    answer_order_.push_back(id);
  return lookup;
}

// {"major":"1","minor":"34+"}
void Live::read_version() {
  ApiClient client(server_, stop_.fd());
  for (DoublingPause pause_ms(2'000, 60'000); !client.stopped();) {
    const ApiAnswer answer = client.get("/version");
    const std::optional<Json> version = answer.ok() ? parse_json(answer.body) : std::nullopt;
    if (version) {
      const std::string minor = text_at(*version, {"minor"});
      minor_ = parse_int<int>(std::string_view(minor).substr(0, minor.find_first_not_of("0123456789"))).value_or(0);
      if (minor_ != 0) return;
    }
    if (!client.sleep_ms(pause_ms.next())) return;
  }
}

}  // namespace

Result<std::unique_ptr<LiveCluster>> LiveCluster::open(ClusterOptions options) {
  Result<std::shared_ptr<ApiServer>> server = ApiServer::open(options.kubeconfig);
  if (!server) return server.error();
  return std::unique_ptr<LiveCluster>(std::make_unique<Live>(std::move(options), std::move(*server)));
}

}  // namespace tacho
