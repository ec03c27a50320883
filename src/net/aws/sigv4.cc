#include "net/aws/sigv4.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/text.h"
#include "base/time_text.h"
#include "net/http/digest.h"

namespace tacho {
namespace {

// Blanks around a value go, a run of them inside becomes one.
std::string canonical_value(std::string_view value) {
  std::string out;
  for (const char c : trim(value)) {
    if (c == ' ' && out.ends_with(' ')) continue;
    out += c;
  }
  return out;
}

// Name in lower case → value; several headers of one name are joined in their order.
std::map<std::string, std::string> canonical_headers(const Headers& headers) {
  std::map<std::string, std::string> sorted;
  for (const auto& [name, value] : headers) {
    const auto [at, is_new] = sorted.try_emplace(lower(name), canonical_value(value));
    if (!is_new) at->second.append(",").append(canonical_value(value));
  }
  return sorted;
}

}  // namespace

std::string SigV4Scope::text() const { return time.substr(0, 8) + "/" + region + "/" + service + "/aws4_request"; }

std::string sigv4_time(int64_t realtime_ns) { return compact_utc(realtime_ns); }

std::string signed_headers(const Headers& headers) {
  std::string out;
  for (const auto& [name, value] : canonical_headers(headers)) out += (out.empty() ? "" : ";") + name;
  return out;
}

std::string canonical_query(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string_view pair : split(query, '&')) {
    if (pair.empty()) continue;
    const size_t equals = std::min(pair.find('='), pair.size());
    const std::string_view value = equals < pair.size() ? pair.substr(equals + 1) : "";
    pairs.emplace_back(percent_encode(percent_decode(pair.substr(0, equals)), false),
                       percent_encode(percent_decode(value), false));
  }
  std::sort(pairs.begin(), pairs.end());
  std::string out;
  for (const auto& [name, value] : pairs) out += (out.empty() ? "" : "&") + name + "=" + value;
  return out;
}

std::string canonical_request(const SigV4Request& request) {
  std::string out =
      std::string(request.method) + "\n" + std::string(request.path) + "\n" + canonical_query(request.query) + "\n";
  for (const auto& [name, value] : canonical_headers(request.headers)) out += name + ":" + value + "\n";
  return out + "\n" + signed_headers(request.headers) + "\n" + std::string(request.payload_hash);
}

std::string string_to_sign(const SigV4Scope& scope, std::string_view canonical) {
  return "AWS4-HMAC-SHA256\n" + scope.time + "\n" + scope.text() + "\n" + hex(sha256(canonical));
}

std::string sigv4_signature(std::string_view secret_key, const SigV4Scope& scope, std::string_view to_sign) {
  std::string key = hmac_sha256(std::string("AWS4").append(secret_key), scope.time.substr(0, 8));
  key = hmac_sha256(key, scope.region);
  key = hmac_sha256(key, scope.service);
  key = hmac_sha256(key, "aws4_request");
  return hex(hmac_sha256(key, to_sign));
}

std::string authorization(const SigV4Request& request, const SigV4Scope& scope, std::string_view access_key,
                          std::string_view secret_key) {
  const std::string signature = sigv4_signature(secret_key, scope, string_to_sign(scope, canonical_request(request)));
  return "AWS4-HMAC-SHA256 Credential=" + std::string(access_key) + "/" + scope.text() +
         ", SignedHeaders=" + signed_headers(request.headers) + ", Signature=" + signature;
}

}  // namespace tacho
