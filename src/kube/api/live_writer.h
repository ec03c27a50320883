// Objects of the API server asked for and written past all caches, over connections of its own. For one thread at a
// time.
#pragma once
#include <cstdint>
#include <memory>
#include <string_view>

#include "kube/api/api_client.h"
#include "kube/api/cluster.h"
#include "kube/api/discovery.h"

namespace tacho {

class LiveWriter final : public ClusterWriter {
 public:
  // A readable stop_fd cuts every request and wait short.
  LiveWriter(std::shared_ptr<ApiServer> server, std::shared_ptr<Discovery> discovery, int stop_fd)
      : client_(std::move(server), stop_fd), discovery_(std::move(discovery)) {}

  // Attempts of at most `attempt_ms` until the deadline, after errors that may pass.
  Lookup get(const ObjectKey& key, int64_t deadline_ns, int64_t attempt_ms);
  Lookup read(const ObjectKey& key) override;
  Written create(const ObjectKey& key, std::string_view json) override;
  Written replace(const ObjectKey& key, std::string_view json) override;
  Written patch(const ObjectKey& key, std::string_view json_patch) override;

 private:
  Lookup ask_once(const ObjectKey& key, int64_t deadline_ns, int64_t attempt_ms, int64_t& again_ms);
  Written write(const char* method, const ObjectKey& key, std::string_view body, const char* content_type);

  ApiClient client_;
  std::shared_ptr<Discovery> discovery_;
};

}  // namespace tacho
