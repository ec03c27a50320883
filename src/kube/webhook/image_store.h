// The commands of images, in memory and on disk. Filled by a few threads of its own that ask registries as soon as a
// Trial appears, long before its pod is made; the admission path only looks. At most kPerRegistry threads ask the same
// registry, and a registry that does not answer is left alone for a while: images of other registries do not wait for
// it. Thread-safe.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "kube/api/cluster.h"
#include "kube/api/object.h"
#include "kube/webhook/image_commands.h"
#include "kube/webhook/image_reference.h"
#include "kube/webhook/webhook_metrics.h"
#include "os/thread.h"

namespace tacho {

struct ImageStoreOptions {
  std::string folder;   // empty: in memory only
  bool lookups = true;  // false: nobody is ever asked
  std::vector<std::string> plain_registries;
};

// Images of a Trial's runSpec whose containers have no command, with the pull secrets of their template.
struct WantedImage {
  std::string image, pull_policy;
  std::vector<std::string> secrets;
};
std::vector<WantedImage> wanted_images(const Json& trial);

class ImageStore final : public ImageCommands {
 public:
  ImageStore(Cluster& cluster, ClusterWriter& secrets, ImageStoreOptions options, WebhookMetrics& metrics);
  ~ImageStore() override { stop(); }

  // A Trial was seen. Returns at once.
  void warm(std::shared_ptr<const std::string> trial);
  std::optional<ImageCommand> find(const std::string& image, const std::string& pull_policy,
                                   int64_t deadline_ns) override;
  void stop();

 private:
  struct Entry {
    ImageCommand command;
    int64_t read_s = 0;     // UNIX time
    int64_t failed_ns = 0;  // not 0: no command was found; the time of the last try
  };
  bool is_fresh(const Entry& entry, const ImageReference& image, std::string_view pull_policy) const;
  static constexpr int kThreads = 8, kPerRegistry = 2;
  struct Task {
    WantedImage wanted;
    std::string ns, key, registry;
    ImageReference image;
  };
  struct Place {  // a registry
    std::deque<Task> waiting;
    int running = 0;
    int64_t silent_until_ns = 0;  // it did not answer: not asked before this time
  };
  void sort_trials();
  void add(Task task);
  void run();
  bool take(Task& task);  // the lock is held
  void fetch(const Task& task);
  void load();
  void save(const std::string& key, const Entry& entry) const;
  std::string file_of(const std::string& key) const;

  ClusterWriter& secrets_;
  const ImageStoreOptions options_;
  WebhookMetrics& metrics_;
  WaitLock wait_lock_;
  std::map<std::string, Entry> entries_;  // by digest or reference
  std::set<std::string> queued_, under_way_;
  std::deque<std::shared_ptr<const std::string>> trials_;
  std::map<std::string, Place> places_;  // by registry; those with nothing to do are dropped
  std::string last_;                     // the registry served last: the next one comes first
  std::atomic<bool> stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tacho
