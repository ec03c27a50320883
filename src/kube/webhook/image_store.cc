#include "kube/webhook/image_store.h"

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/hmac.h"
#include "base/log.h"
#include "base/units.h"
#include "kube/webhook/certificates.h"
#include "kube/webhook/registry.h"
#include "os/clock.h"
#include "os/file.h"

namespace tacho {
namespace {

constexpr int64_t kGoodSeconds = 24 * 3'600, kGoodAlwaysSeconds = 300;
constexpr int64_t kRetryNs = 30 * kNsPerSec;
constexpr int64_t kWaitNs = 300 * kNsPerMs;
constexpr size_t kEntries = 4'096, kQueue = 20'000;
constexpr size_t kPlaces = 256, kPlaceQueue = 256;  // registries, and images that wait for one of them
constexpr size_t kImagesOfATrial = 32, kSecretsOfAnImage = 8;
constexpr int64_t kSilentNs = 30 * kNsPerSec;

std::string key_of(const ImageReference& image) {
  return image.registry + "/" + image.repository + (image.digest.empty() ? ":" + image.tag : "@" + image.digest);
}

std::vector<std::string> words_of(const Json& object, const char* key) {
  std::vector<std::string> out;
  const Json* list = tacho::find(object, {key});
  if (list == nullptr || !list->is_array()) return out;
  for (const Json& word : *list) {
    if (word.is_string()) out.push_back(word.get<std::string>());
  }
  return out;
}

bool has_command(const Json& container) {
  const Json* command = find(container, {"command"});
  return command != nullptr && command->is_array() && !command->empty();
}

// Pod specs are found by their containers, wherever a kind of job keeps them.
void search(const Json& here, const std::string& primary, std::vector<WantedImage>& out) {
  if (here.is_array()) {
    for (const Json& one : here) search(one, primary, out);
    return;
  }
  if (!here.is_object()) return;
  if (const Json* containers = find(here, {"containers"}); containers != nullptr && containers->is_array()) {
    std::vector<std::string> secrets;
    if (const Json* named = find(here, {"imagePullSecrets"}); named != nullptr && named->is_array()) {
      for (const Json& one : *named) secrets.push_back(text_at(one, {"name"}));
    }
    for (const Json& container : *containers) {
      const bool ours = primary.empty() || text_at(container, {"name"}) == primary;
      const std::string image = text_at(container, {"image"});
      if (ours && !image.empty() && !has_command(container))
        out.push_back({image, text_at(container, {"imagePullPolicy"}), secrets});
    }
  }
  for (const auto& [key, value] : here.items()) search(value, primary, out);
}

}  // namespace

std::vector<WantedImage> wanted_images(const Json& trial) {
  std::vector<WantedImage> out;
  if (!text_at(trial, {"status", "completionTime"}).empty()) return out;
  const Json* run = find(trial, {"spec", "runSpec"});
  if (run == nullptr) return out;
  search(*run, text_at(trial, {"spec", "primaryContainerName"}), out);
  // A TrainJob names its image apart from any template.
  if (const Json* trainer = find(*run, {"spec", "trainer"});
      trainer != nullptr && trainer->is_object() && !has_command(*trainer)) {
    if (const std::string image = text_at(*trainer, {"image"}); !image.empty()) out.push_back({image, "", {}});
  }
  return out;
}

ImageStore::ImageStore(Cluster&, ClusterWriter& secrets, ImageStoreOptions options, WebhookMetrics& metrics)
    : secrets_(secrets), options_(std::move(options)), metrics_(metrics) {
  load();
  if (!options_.lookups) return;
  threads_.emplace_back([this] { sort_trials(); });
  for (int i = 0; i < kThreads; ++i) threads_.emplace_back([this] { run(); });
}

void ImageStore::stop() {
  {
    const std::lock_guard lock(wait_lock_);
    stopping_ = true;
    wait_lock_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void ImageStore::warm(std::shared_ptr<const std::string> trial) {
  if (!options_.lookups || !trial) return;
  const std::lock_guard lock(wait_lock_);
  if (trials_.size() >= kQueue) trials_.pop_front();
  trials_.push_back(std::move(trial));
  wait_lock_.notify_all();
}

bool ImageStore::is_fresh(const Entry& entry, const ImageReference& image, std::string_view pull_policy) const {
  if (entry.read_s == 0) return false;
  if (!image.digest.empty()) return true;  // cannot change
  const int64_t now_s = system_clock().realtime_ns() / kNsPerSec;
  // What was read later than now was read by a clock that ran ahead: its age is not known.
  return entry.read_s <= now_s &&
         entry.read_s > now_s - (pulls_always(image, pull_policy) ? kGoodAlwaysSeconds : kGoodSeconds);
}

std::optional<ImageCommand> ImageStore::find(const std::string& image, const std::string& pull_policy,
                                             int64_t deadline_ns) {
  const std::optional<ImageReference> reference = parse_image(image);
  if (!reference) return std::nullopt;
  const std::string key = key_of(*reference);
  const int64_t until_ns = std::min(deadline_ns, system_clock().monotonic_ns() + kWaitNs);
  std::unique_lock lock(wait_lock_);
  while (true) {
    const auto found = entries_.find(key);
    if (found != entries_.end() && is_fresh(found->second, *reference, pull_policy)) {
      metrics_.image_lookup("cached");
      return found->second.command;
    }
    if (under_way_.count(key) == 0 || !wait_lock_.wait_until(until_ns)) break;
  }
  metrics_.image_lookup("unknown");
  return std::nullopt;
}

// From Trials to images, in the order of their coming.
void ImageStore::sort_trials() {
  while (true) {
    std::shared_ptr<const std::string> text;
    {
      std::unique_lock lock(wait_lock_);
      while (trials_.empty() && !stopping_) wait_lock_.wait();
      if (stopping_) return;
      text = std::move(trials_.front());
      trials_.pop_front();
    }
    const std::optional<Json> trial = parse_json(*text);
    if (!trial) continue;
    std::vector<WantedImage> all = wanted_images(*trial);
    if (all.size() > kImagesOfATrial) all.resize(kImagesOfATrial);
    for (WantedImage& wanted : all) {
      const std::optional<ImageReference> image = parse_image(wanted.image);
      if (!image) continue;
      add({std::move(wanted), text_at(*trial, {"metadata", "namespace"}), key_of(*image), image->registry, *image});
    }
  }
}

void ImageStore::add(Task task) {
  const std::lock_guard lock(wait_lock_);
  const int64_t now_ns = system_clock().monotonic_ns();
  if (const auto entry = entries_.find(task.key); entry != entries_.end()) {
    if (is_fresh(entry->second, task.image, task.wanted.pull_policy)) return;
    if (entry->second.failed_ns != 0 && now_ns - entry->second.failed_ns < kRetryNs) return;
  }
  if (queued_.contains(task.key) || under_way_.contains(task.key)) return;
  if (places_.size() >= kPlaces && !places_.contains(task.registry)) return;
  Place& place = places_[task.registry];
  if (place.waiting.size() >= kPlaceQueue) return;
  queued_.insert(task.key);
  place.waiting.push_back(std::move(task));
  wait_lock_.notify_all();
}

bool ImageStore::take(Task& task) {
  const int64_t now_ns = system_clock().monotonic_ns();
  std::erase_if(places_, [&](const auto& entry) {
    return entry.second.waiting.empty() && entry.second.running == 0 && entry.second.silent_until_ns <= now_ns;
  });
  auto at = places_.upper_bound(last_);
  for (size_t i = 0; i < places_.size(); ++i, ++at) {
    if (at == places_.end()) at = places_.begin();
    Place& place = at->second;
    // One that has just been silent is asked by one at a time.
    const int limit = place.silent_until_ns != 0 ? 1 : kPerRegistry;
    if (place.waiting.empty() || place.running >= limit || place.silent_until_ns > now_ns) continue;
    task = std::move(place.waiting.front());
    place.waiting.pop_front();
    queued_.erase(task.key);
    under_way_.insert(task.key);
    ++place.running;
    last_ = at->first;
    return true;
  }
  return false;
}

void ImageStore::run() {
  while (true) {
    Task task;
    {
      std::unique_lock lock(wait_lock_);
      while (!stopping_ && !take(task)) {
        if (places_.empty()) wait_lock_.wait();
        else wait_lock_.wait_until(system_clock().monotonic_ns() + kNsPerSec);  // a silence may be over
      }
      if (stopping_) return;
    }
    fetch(task);
  }
}

void ImageStore::fetch(const Task& task) {
  const WantedImage& wanted = task.wanted;
  const std::string& key = task.key;
  std::map<std::string, RegistryLogin> logins;
  for (size_t i = 0; i < std::min(wanted.secrets.size(), kSecretsOfAnImage); ++i) {
    const Lookup secret = secrets_.read({"v1", "Secret", task.ns, wanted.secrets[i]});
    const std::optional<Json> parsed =
        secret.state == Lookup::State::found && secret.json ? parse_json(*secret.json) : std::nullopt;
    if (parsed) logins.merge(parse_docker_config(from_base64(text_at(*parsed, {"data", ".dockerconfigjson"}))));
  }
  Registry registry(options_.plain_registries, [this] { return stopping_.load(); });
  const Result<ImageCommand> read = registry.read(task.image, find_login(logins, task.image));
  const Entry made{read ? *read : ImageCommand{}, system_clock().realtime_ns() / kNsPerSec, 0};
  if (read) save(key, made);  // a slow disk is nobody else's matter either
  const std::lock_guard lock(wait_lock_);
  under_way_.erase(key);
  Place& place = places_[task.registry];
  --place.running;
  place.silent_until_ns = !read && registry.silent() ? system_clock().monotonic_ns() + kSilentNs : 0;
  Entry& entry = entries_[key];
  if (read) {
    entry = made;
  } else {
    entry.failed_ns = system_clock().monotonic_ns();
    if (!stopping_) log::warn("the command of image " + wanted.image + " is not known: " + read.error().message());
  }
  metrics_.image_lookup(read ? "fetched" : "failed");
  if (entries_.size() > kEntries) {
    for (auto one = entries_.begin(); one != entries_.end() && entries_.size() > kEntries / 2;)
      one = one->first == key ? std::next(one) : entries_.erase(one);
  }
  wait_lock_.notify_all();
}

std::string ImageStore::file_of(const std::string& key) const {
  return options_.folder + "/" + hmac_sha256_hex("image", key) + ".json";
}

void ImageStore::save(const std::string& key, const Entry& entry) const {
  if (options_.folder.empty()) return;
  Json out = Json::object();
  out["image"] = key;
  out["read"] = entry.read_s;
  out["entryPoint"] = entry.command.entry_point;
  out["arguments"] = entry.command.arguments;
  Status written = make_directories(options_.folder);
  if (written) written = write_file_atomically(file_of(key), dump_json(out));
  if (!written) log::warn(written.error());
}

void ImageStore::load() {
  if (options_.folder.empty()) return;
  list_directory(options_.folder, [this](std::string_view name) {
    if (!name.ends_with(".json") || entries_.size() >= kEntries) return;
    const Result<std::string> text = read_whole_file(options_.folder + "/" + std::string(name), 1u << 20);
    const std::optional<Json> parsed = text ? parse_json(*text) : std::nullopt;
    if (!parsed || !parsed->is_object()) return;
    const std::string key = text_at(*parsed, {"image"});
    const Json* read = tacho::find(*parsed, {"read"});
    if (key.empty() || read == nullptr || !read->is_number_integer()) return;
    entries_[key] = {{words_of(*parsed, "entryPoint"), words_of(*parsed, "arguments")}, read->get<int64_t>(), 0};
  });
}

}  // namespace tacho
