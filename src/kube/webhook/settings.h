// The settings in force: katib-config and tacho-config as the cluster has them now, or the last good version of each.
// If tacho-config is removed, the defaults apply. Thread-safe.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "kube/api/cluster.h"
#include "kube/api/katib_config.h"

namespace tacho {

struct WebhookSettings {
  KatibConfig katib;
  TachoConfig tacho;
  // The collector for a kind; the image given on the command line where katib-config has none.
  const CollectorConfig* collector(const CollectorKind& kind) const;
  std::optional<CollectorConfig> other;
};

class SettingsSource {
 public:
  // `image` serves kinds that katib-config does not name; may be empty. The ConfigMaps are read once in `look_ns`, by
  // one of the callers; the others go on with the last settings.
  SettingsSource(Cluster& cluster, std::string core_namespace, std::string image, int64_t look_ns = 500'000'000);
  std::shared_ptr<const WebhookSettings> current(int64_t deadline_ns);

 private:
  void refresh(int64_t deadline_ns);

  Cluster& cluster_;
  const std::string namespace_;
  const int64_t look_ns_;
  std::timed_mutex refreshing_;  // before mutex_
  std::mutex mutex_;             // of what follows
  int64_t next_look_ns_ = 0;
  std::shared_ptr<const std::string> katib_text_, tacho_text_;  // what was read last, good or not
  bool has_katib_ = false;                                      // a version without faults is in force
  std::shared_ptr<const WebhookSettings> settings_;
};

}  // namespace tacho
