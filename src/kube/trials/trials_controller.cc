#include "kube/trials/trials_controller.h"

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>

#include "base/chance.h"
#include "base/log.h"
#include "base/units.h"
#include "os/clock.h"

namespace tacho {
namespace {

constexpr size_t kNotes = 100'000;
constexpr int64_t kSweepMs = 1'000;

// What its job is, while it may still need one.
std::optional<KindName> needed_kind(const Json& trial) {
  const KindName kind{text_at(trial, {"spec", "runSpec", "apiVersion"}), text_at(trial, {"spec", "runSpec", "kind"})};
  if (kind.api_version.empty() || kind.kind.empty() || is_complete(trial)) return std::nullopt;
  return kind;
}

// "namespace/name"
std::pair<std::string, std::string> split_key(const std::string& key) {
  const size_t slash = key.find('/');
  return slash == std::string::npos ? std::pair{std::string(), key}
                                    : std::pair{key.substr(0, slash), key.substr(slash + 1)};
}

}  // namespace

TrialsController::TrialsController(std::shared_ptr<ApiServer> server, ControllerOptions options, DbClient& db,
                                   TrialsMetrics& metrics, std::function<bool()> may_write)
    : server_(std::move(server)),
      options_(std::move(options)),
      metrics_(metrics),
      may_write_([this, may = std::move(may_write)] { return !stop_.raised() && may(); }) {
  context_.settings = options_.settings;
  context_.db = &db;
  context_.metrics = &metrics_;
  WatchOptions trials;
  trials.timeout_s = options_.watch_timeout_s;
  trials.packed = true;
  trials.on_put = [this](const std::string& key, const CachedObject& now) { trial_changed(key, now); };
  trials.on_delete = [this](const std::string& key, const CachedObject&) { trial_gone(key); };
  trials_ = std::make_unique<ResourceWatch>(server_, discovery_, stop_.fd(), KindName{kTrialApi, "Trial"}, options_.ns,
                                            std::move(trials));
  jobs_ = std::make_unique<JobWatches>(server_, discovery_, stop_.fd(), options_.ns, options_.watch_timeout_s,
                                       options_.idle_watch_ms, [this](const std::string& key) { queue_.add(key); });
  set_up_context();
}

TrialsController::~TrialsController() { stop(); }

void TrialsController::set_up_context() {
  context_.jobs = jobs_.get();
  context_.trial = [this](const std::string& key) { return trials_->get(key).json; };
  context_.wrote = [this](const std::string& key, const std::string& from, const std::string& json) {
    if (Watch* watch = trials_->watch()) watch->put_reply(key, from, json);
  };
  context_.namesakes = [this](const std::string& name, const std::string& ns) { return namesakes(name, ns); };
  context_.first_time = [this](const std::string& note) {
    const std::lock_guard lock(mutex_);
    if (told_.size() >= kNotes) told_.clear();
    return told_.insert(note).second;
  };
  context_.waited_ms = [this](const std::string& key) {
    const int64_t now_ns = system_clock().monotonic_ns();
    const std::lock_guard lock(mutex_);
    return (now_ns - waiting_since_ns_.try_emplace(key, now_ns).first->second) / kNsPerMs;
  };
  context_.stop_waiting = [this](const std::string& key) {
    const std::lock_guard lock(mutex_);
    waiting_since_ns_.erase(key);
  };
}

void TrialsController::start_watches() {
  trials_->start();
  if (!options_.settings.own) return;  // comparing needs no jobs
  for (const KindName& kind : options_.kinds) jobs_->add(kind);
}

bool TrialsController::synced() const {
  const Watch* trials = trials_->watch();
  return trials != nullptr && trials->synced() && jobs_->settled();
}

void TrialsController::start_workers() {
  const std::lock_guard lock(threads_mutex_);
  if (stop_.raised()) return;
  for (int i = 0; i < options_.workers; ++i) threads_.emplace_back([this] { work(); });
  threads_.emplace_back([this] { resync(); });
  if (options_.settings.own) threads_.emplace_back([this] { look_after_watches(); });
}

bool TrialsController::halt(int64_t limit_ms) {
  stop_.raise();
  queue_.stop();
  const int64_t until_ns = system_clock().monotonic_ns() + limit_ms * kNsPerMs;
  while (working_ > 0 && system_clock().monotonic_ns() < until_ns)
    system_clock().wait({}, system_clock().monotonic_ns() + 5 * kNsPerMs);
  return working_ == 0;
}

void TrialsController::stop() {
  stop_.raise();
  queue_.stop();
  const std::lock_guard lock(threads_mutex_);
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

std::vector<WatchCount> TrialsController::watch_counts() const {
  std::vector<WatchCount> counts = jobs_->counts();
  if (const Watch* watch = trials_->watch())
    counts.insert(counts.begin(), {watch->resource(), watch->restarts(), watch->relists(), watch->cache().size()});
  return counts;
}

void TrialsController::trial_changed(const std::string& key, const CachedObject& now) {
  const auto [ns, name] = split_key(key);
  if (const std::optional<Json> trial = parse_json(*now.json)) {
    TrialFact fact{state_of(*trial), find(*trial, {"metadata", "deletionTimestamp"}) != nullptr, needed_kind(*trial)};
    const std::lock_guard lock(mutex_);
    TrialFact& old = facts_[key];
    metrics_.moved(ns, old.state, fact.state);
    if (fact.kind) jobs_->need(*fact.kind, 1);
    if (old.kind) jobs_->need(*old.kind, -1);
    old = std::move(fact);
    namespaces_of_[name].insert(ns);
  }
  queue_.add(key);
}

void TrialsController::trial_gone(const std::string& key) {
  const auto [ns, name] = split_key(key);
  {
    const std::lock_guard lock(mutex_);
    if (const auto fact = facts_.find(key); fact != facts_.end()) {
      metrics_.moved(ns, fact->second.state, "");
      if (fact->second.kind) jobs_->need(*fact->second.kind, -1);
      facts_.erase(fact);
    }
    if (const auto found = namespaces_of_.find(name); found != namespaces_of_.end()) {
      found->second.erase(ns);
      if (found->second.empty()) namespaces_of_.erase(found);
    }
    waiting_since_ns_.erase(key);  // the next Trial of this name may be there before anybody looks
  }
  queue_.forget(key);
  queue_.add(key);
}

std::vector<std::string> TrialsController::namesakes(const std::string& name, const std::string& ns) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> others;
  const auto found = namespaces_of_.find(name);
  if (found == namespaces_of_.end()) return others;
  for (const std::string& other : found->second) {
    if (other != ns && !facts_[other + "/" + name].dying) others.push_back(other);
  }
  return others;
}

void TrialsController::work() {
  Reconciler reconciler(context_, TrialWriter(server_, discovery_, stop_.fd(), may_write_, metrics_));
  // Until the caches are filled, a job that is there would look as if it were missing.
  const ApiClient waiter(server_, stop_.fd());
  while (!synced()) {
    if (!waiter.sleep_ms(20)) return;
  }
  while (const std::optional<std::string> key = queue_.take()) {
    ++working_;
    Reconciled result;
    try {
      result = reconciler.reconcile(*key);
    } catch (const std::exception& error) {
      // A Trial of a shape that nobody thought of must not end the work on all others.
      result = {Reconciled::Next::later, ""};
      log::warn("Trial " + *key + " could not be worked on: " + error.what());
    }
    --working_;
    if (result.next == Reconciled::Next::nothing) queue_.forget(*key);
    else
      queue_.retry(*key, chance(), result.next == Reconciled::Next::soon ? 100 : 1'000, 30'000, result.not_before_ms);
    if (result.next == Reconciled::Next::soon && !result.why.empty() && !stop_.raised())
      log::warn("Trial " + *key + ": " + result.why + "; it is tried again");
    queue_.done(*key);
  }
}

void TrialsController::look_after_watches() {
  const ApiClient waiter(server_, stop_.fd());
  while (waiter.sleep_ms(std::min(kSweepMs, options_.idle_watch_ms))) jobs_->sweep();
}

void TrialsController::resync() {
  const ApiClient waiter(server_, stop_.fd());
  while (waiter.sleep_ms(options_.resync_s * 1'000)) {
    if (const Watch* watch = trials_->watch()) {
      for (const std::string& key : watch->cache().keys()) queue_.add(key);
    }
  }
}

}  // namespace tacho
