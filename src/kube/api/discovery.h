// Which resource a kind is: "Job" of batch/v1 is "jobs". From the API server's own list of a group, kept for ten
// minutes; for a kind that is not in it the server is asked again after some seconds, since a CRD may come later.
// Bounded; thread-safe.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "base/result.h"
#include "kube/api/api_client.h"

namespace tacho {

struct ApiResource {
  std::string name;  // "pytorchjobs"
  bool namespaced = true;
};

class Discovery {
 public:
  // Code::not_available when the server knows no such kind, or when there cannot be one; Code::io when the server could
  // not be asked just now, Code::denied when it refuses to answer.
  Result<ApiResource> find(ApiClient& client, const std::string& api_version, const std::string& kind);
  // For a review that waits: once, without waiting for a turn.
  Result<ApiResource> find_now(ApiClient& client, const std::string& api_version, const std::string& kind,
                               int64_t total_ms);

 private:
  Result<ApiResource> ask(ApiClient& client, const std::string& api_version, const std::string& kind,
                          ApiRequest request);
  struct Group {
    std::map<std::string, ApiResource> kinds;
    int64_t read_ns = 0;
  };
  std::mutex mutex_;
  std::map<std::string, Group> groups_;
};

}  // namespace tacho
