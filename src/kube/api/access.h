// How the API server is reached: the service account of a pod, or a kubeconfig file (CA, client certificate, token;
// programs that make credentials are not run). Tokens and certificates are read again each minute, since the kubelet
// replaces them. Thread-safe.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "net/http/http.h"

namespace tacho {

struct ApiAccess {
  std::string server;  // https://10.0.0.1:443, without a slash at the end
  std::string token;   // may be empty
  HttpTls tls;
  std::string ns;  // of the service account or the context; may be empty
};

// `kubeconfig` empty: in the cluster by KUBERNETES_SERVICE_HOST and the service account's folder, else the files that
// KUBECONFIG names, with colons between them: the first file that has a context, cluster or user of that name counts.
Result<ApiAccess> load_access(const std::string& kubeconfig);
// The text of a kubeconfig; relative file names in it start at `folder`.
Result<ApiAccess> parse_kubeconfig(const std::string& text, const std::string& folder);
// The service account's folder; SERVICE_ACCOUNT_DIR in tests.
inline constexpr const char* kServiceAccountDir = "/var/run/secrets/kubernetes.io/serviceaccount";

class AccessSource {
 public:
  static Result<std::shared_ptr<AccessSource>> open(const std::string& kubeconfig);
  // What holds now. While a file cannot be read, its last good version stays in use, with a warning.
  std::shared_ptr<const ApiAccess> current();
  // After a 401: read again at once, at most once a second.
  void refresh();

 private:
  AccessSource(std::string kubeconfig, ApiAccess access);
  void read_again(int64_t now_ns);

  const std::string kubeconfig_;
  std::mutex mutex_;
  std::shared_ptr<const ApiAccess> access_;
  int64_t read_ns_;
};

}  // namespace tacho
