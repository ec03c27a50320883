// The options of `tacho-katib inject`. Pure but for the environment; not thread-safe.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace tacho {

struct InjectFlags {
  bool help = false, verbose = false;
  std::string kubeconfig, core_namespace;
  std::string listen, health_address, metrics_address;  // empty: by katib-config, else :8443, :18080, :8080
  // Certificates from files of the user, or made and kept in a Secret.
  std::string cert_file, key_file, client_ca;
  bool own_certificates = false;
  std::string service, secret;              // empty: by katib-config
  std::vector<std::string> extra_names;     // DNS or IP names of the certificate
  std::vector<std::string> configurations;  // webhook configurations that get the caBundle
  std::string cert_dir = "/tmp/cert";
  std::string image;  // of the collector, for kinds that katib-config does not name
  bool image_lookups = true;
  std::string image_cache;                    // a folder; empty: in memory only
  std::vector<std::string> plain_registries;  // host:port that are spoken to without TLS (loopback only)
  int64_t deadline_ms = 2'000, stop_delay_ms = 5'000;
  int threads = 2, workers = 32;
};

// Without the command's own name. An Error's `what` is for stderr, with exit 2.
Result<InjectFlags> parse_inject_flags(std::span<const std::string> words);
std::string inject_help();

}  // namespace tacho
