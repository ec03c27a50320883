// The webhook's certificate in a Secret (`ca.crt`, `ca.key`, `tls.crt`, `tls.key`), renewed in time by whichever
// replica looks first; the Secret's resourceVersion lets only one win. A new CA is put before the old one in `ca.crt`,
// and signs a certificate only once every webhook configuration carries both. Not thread-safe.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/api/cluster.h"
#include "kube/webhook/certificates.h"

namespace tacho {

struct KeeperOptions {
  std::string ns, secret;
  std::vector<std::string> names;           // of the certificate
  std::vector<std::string> configurations;  // webhook configurations, by name
  std::string folder;                       // tls.crt and tls.key are written here
};

class CertificateKeeper {
 public:
  CertificateKeeper(ClusterWriter& cluster, KeeperOptions options) : cluster_(cluster), options_(std::move(options)) {}

  // Makes or renews what is due, puts the CA into the configurations and the certificate into the folder. True: the
  // files changed. An Error: something must be tried again; the last good files stay in use.
  Result<bool> look(int64_t now_s);
  // The certificate in the folder is trusted by every configuration that was seen.
  bool trusted() const { return trusted_; }
  int64_t not_after_s() const { return not_after_s_; }
  bool has_configurations() const { return found_configurations_ > 0; }

 private:
  struct Stored;
  Result<Stored> load();
  Result<Stored> store(const Stored& wanted);
  Result<Stored> make_first(int64_t now_s);
  // Each is a step that may be due; true when it changed the Secret.
  Result<bool> renew_ca(Stored& stored, int64_t now_s);
  Result<bool> renew_certificate(Stored& stored, int64_t now_s);
  Result<bool> drop_old_ca(Stored& stored, int64_t now_s);
  Status write_bundle(const std::string& bundle);
  Status patch_configuration(const std::string& kind, const std::string& name, const std::string& bundle);
  Result<bool> write_files(const Stored& stored);

  ClusterWriter& cluster_;
  const KeeperOptions options_;
  bool trusted_ = false;
  int64_t not_after_s_ = 0;
  int found_configurations_ = 0;
};

}  // namespace tacho
