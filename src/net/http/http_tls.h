// Which certificates are trusted: SSL_CERT_FILE and SSL_CERT_DIR, else libcurl's own places, else where the
// distributions keep theirs. Thread-safe.
#pragma once
#include <string>

#include "base/result.h"

namespace tacho {

struct TrustStore {
  std::string file, directory;  // one of them may be empty
};
// An Error when there is none: every TLS connection would fail, and a person can do something about it.
Result<TrustStore> find_trust_store();

}  // namespace tacho
