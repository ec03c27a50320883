#include "kube/api/resource_watch.h"

#include <poll.h>
#include <sys/eventfd.h>

#include "base/backoff.h"
#include "base/log.h"
#include "kube/api/job_kinds.h"

namespace tacho {
namespace {

// For a CRD that is not installed: soon at first, since a server that has just started does not know all of them yet.
constexpr int64_t kAskAgainMs = 5'000, kAskAgainLastMs = 300'000;
constexpr int64_t kRetryMs = 1'000;

}  // namespace

std::optional<KindName> parse_kind(std::string_view text) {
  const size_t first = text.find('.');
  if (first == std::string_view::npos || first == 0) return std::nullopt;
  const size_t second = text.find('.', first + 1);
  const std::string version(text.substr(first + 1, second == std::string_view::npos ? second : second - first - 1));
  const std::string group(second == std::string_view::npos ? std::string_view() : text.substr(second + 1));
  if (version.empty()) return std::nullopt;
  return KindName{group.empty() ? version : group + "/" + version, std::string(text.substr(0, first))};
}

std::vector<KindName> usual_job_kinds(bool with_made_jobs) {
  std::vector<KindName> kinds;
  for (const JobKind& known : job_kinds()) {
    if (known.use == JobKind::Use::usual && (known.is_trial_job || with_made_jobs))
      kinds.push_back({std::string(known.group) + "/" + std::string(known.version), std::string(known.kind)});
  }
  return kinds;
}

ResourceWatch::ResourceWatch(std::shared_ptr<ApiServer> server, std::shared_ptr<Discovery> discovery, int stop_fd,
                             KindName kind, std::string ns, WatchOptions options)
    : server_(std::move(server)),
      discovery_(std::move(discovery)),
      stop_fd_(stop_fd),
      kind_(std::move(kind)),
      ns_(std::move(ns)),
      options_(std::move(options)) {}

ResourceWatch::~ResourceWatch() {
  if (thread_.joinable()) thread_.join();
}

void ResourceWatch::start() {
  thread_ = std::thread([this] { run(); });
}

bool ResourceWatch::settled() const {
  const Watch* const watch = watch_ptr_.load();
  return watch != nullptr ? watch->synced() : missing_.load();
}

bool ResourceWatch::refused() const {
  const Watch* const watch = watch_ptr_.load();
  return watch != nullptr ? watch->refused() : denied_.load();
}

CachedObject ResourceWatch::get(const std::string& key) const {
  const Watch* const watch = watch_ptr_.load();
  return watch == nullptr ? CachedObject{} : watch->cache().get(key);
}

void ResourceWatch::run() {
  ApiClient client(server_, stop_fd_);
  DoublingPause ask_again_ms(kAskAgainMs, kAskAgainLastMs);
  while (!client.stopped()) {
    const Result<ApiResource> resource = discovery_->find(client, kind_.api_version, kind_.kind);
    if (resource) {
      options_.path = api_path(kind_.api_version, resource->name, resource->namespaced ? ns_ : std::string());
      options_.resource = resource->name;
      options_.api_version = kind_.api_version;
      options_.kind = kind_.kind;
      watch_ = std::make_unique<Watch>(server_, stop_fd_, options_);
      watch_ptr_ = watch_.get();
      return watch_->run();
    }
    missing_ = resource.error().code == Code::not_available;
    denied_ = resource.error().code == Code::denied;
    if (!missing_ && !client.stopped()) log::warn(resource.error());
    if (!client.sleep_ms(missing_ ? ask_again_ms.next() : kRetryMs)) return;
  }
}

StopSignal::StopSignal() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void StopSignal::raise() {
  const uint64_t one = 1;
  if (::write(fd_.get(), &one, sizeof one) < 0) return;  // readable already
}

void StopSignal::clear() {
  uint64_t count = 0;
  if (::read(fd_.get(), &count, sizeof count) < 0) return;  // was not raised
}

bool StopSignal::raised() const {
  pollfd stop{fd_.get(), POLLIN, 0};
  return ::poll(&stop, 1, 0) > 0;
}

}  // namespace tacho
