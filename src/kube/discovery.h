// Which resource a kind is: "Job" of batch/v1 is "jobs". From the API server's own list of a group, kept for ten
// minutes; a kind that is not in it is asked for again after half a minute, since a CRD may come later. Thread-safe.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "base/result.h"
#include "kube/api_client.h"

namespace tacho {

struct ApiResource {
  std::string name;  // "pytorchjobs"
  bool namespaced = true;
};

class Discovery {
 public:
  // Code::not_available when the server knows no such kind; Code::io when it could not be asked.
  Result<ApiResource> find(ApiClient& client, const std::string& api_version, const std::string& kind,
                           int64_t total_ms = 30'000);

 private:
  struct Group {
    std::map<std::string, ApiResource> kinds;
    int64_t read_ns = 0;
  };
  std::mutex mutex_;
  std::map<std::string, Group> groups_;
};

}  // namespace tacho
