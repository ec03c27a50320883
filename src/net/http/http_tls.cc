#include "net/http/http_tls.h"

#include <curl/curl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "os/environment.h"
#include "os/file.h"

namespace tacho {
namespace {

// Debian and Alpine, Fedora, openSUSE, and the rest.
constexpr std::array<const char*, 4> kBundles = {"/etc/ssl/certs/ca-certificates.crt",
                                                 "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
                                                 "/etc/ssl/cert.pem"};

bool is_directory(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool readable_file(const std::string& path) { return !is_directory(path) && ::access(path.c_str(), R_OK) == 0; }

// A folder of certificates works through links named by hash: 8 hex digits, a dot, a number.
bool has_hashed_certificates(const std::string& path) {
  bool found = false;
  list_directory(path, [&](std::string_view name) {
    found = found || (name.size() >= 10 && name[8] == '.' && name.find_first_not_of("0123456789abcdef") == 8);
  });
  return found;
}

Error missing(const char* variable_name, const std::string& path, const char* what) {
  return {Code::invalid, std::string("the CA certificates that ") + variable_name + " names cannot be read", path,
          std::string("name ") + what + ", or unset the variable"};
}

}  // namespace

Result<TrustStore> find_trust_store() {
  TrustStore store{environment("SSL_CERT_FILE"), environment("SSL_CERT_DIR")};
  if (!store.file.empty() && !readable_file(store.file))
    return missing("SSL_CERT_FILE", store.file, "a readable PEM file");
  // Several folders are allowed, as OpenSSL allows them; one that can be used is enough.
  if (!store.directory.empty()) {
    bool usable = false;
    for (size_t at = 0; at <= store.directory.size();) {
      const size_t end = std::min(store.directory.find(':', at), store.directory.size());
      usable = usable || is_directory(store.directory.substr(at, end - at));
      at = end + 1;
    }
    if (!usable) return missing("SSL_CERT_DIR", store.directory, "a folder of certificates (openssl rehash)");
  }
  if (!store.file.empty() || !store.directory.empty()) return store;

  const curl_version_info_data* version = curl_version_info(CURLVERSION_NOW);
  if (version->age >= CURLVERSION_SEVENTH) {
    if (version->cainfo != nullptr && readable_file(version->cainfo)) return TrustStore{version->cainfo, ""};
    if (version->capath != nullptr && has_hashed_certificates(version->capath)) return TrustStore{"", version->capath};
  }
  for (const char* bundle : kBundles) {
    if (readable_file(bundle)) return TrustStore{bundle, ""};
  }
  if (has_hashed_certificates("/etc/ssl/certs")) return TrustStore{"", "/etc/ssl/certs"};
  return Error{Code::invalid, "there are no CA certificates on this machine, so no server can be verified", kBundles[0],
               "install the package ca-certificates, or name a PEM file in SSL_CERT_FILE"};
}

}  // namespace tacho
