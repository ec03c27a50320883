#include "cromwell/caller_check.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "net/base64.h"
#include "net/rs256.h"

namespace tacho {
namespace {

using Json = nlohmann::json;

constexpr int64_t kLeewayS = 60;
constexpr int64_t kLeastKeepNs = 300 * kNsPerSec, kMostKeepNs = 86'400 * kNsPerSec, kBetweenFetchesNs = 30 * kNsPerSec;
constexpr size_t kMostTokenBytes = 16 * 1024;

std::string text(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}
int64_t seconds(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_number()) return 0;
  const double value = found->get<double>();
  return value > 0 && value < 1e12 ? static_cast<int64_t>(value) : 0;
}
bool flag(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end()) return false;
  return found->is_boolean() ? found->get<bool>() : found->is_string() && found->get<std::string>() == "true";
}

// Takes as long for a wrong token as for a right one.
bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned>(a[i] ^ b[i]) & 0xFFu;
  return difference == 0;
}

// Cache-Control: public, max-age=19845, must-revalidate
int64_t max_age_ns(std::string_view cache_control) {
  constexpr std::string_view kWord = "max-age=";
  const size_t at = cache_control.find(kWord);
  if (at == std::string_view::npos) return kLeastKeepNs;
  std::string_view digits = cache_control.substr(at + kWord.size());
  digits = digits.substr(0, digits.find_first_not_of("0123456789"));
  const auto value = parse_int<int64_t>(digits);
  return std::clamp(value.value_or(0) > kMostKeepNs / kNsPerSec ? kMostKeepNs : value.value_or(0) * kNsPerSec,
                    kLeastKeepNs, kMostKeepNs);
}

}  // namespace

std::map<std::string, JwtKey> parse_jwks(std::string_view json) {
  std::map<std::string, JwtKey> keys;
  const Json root = Json::parse(json, nullptr, false);
  if (!root.is_object() || !root.contains("keys") || !root["keys"].is_array()) return keys;
  for (const Json& entry : root["keys"]) {
    if (!entry.is_object() || text(entry, "kty") != "RSA" || text(entry, "kid").empty()) continue;
    const auto modulus = base64_decode(text(entry, "n")), exponent = base64_decode(text(entry, "e"));
    if (modulus && exponent && !modulus->empty() && !exponent->empty())
      keys[text(entry, "kid")] = {*modulus, *exponent};
  }
  return keys;
}

Result<JwtParts> parse_jwt(std::string_view token) {
  const Error broken{Code::invalid, "the identity token cannot be read", "", "send a JSON web token"};
  const auto parts = split(token, '.');
  if (parts.size() != 3 || token.size() > kMostTokenBytes) return broken;
  const auto head_bytes = base64_decode(parts[0]), claim_bytes = base64_decode(parts[1]),
             signature = base64_decode(parts[2]);
  if (!head_bytes || !claim_bytes || !signature) return broken;
  const Json head = Json::parse(*head_bytes, nullptr, false), claims = Json::parse(*claim_bytes, nullptr, false);
  if (!head.is_object() || !claims.is_object()) return broken;
  JwtParts jwt;
  jwt.algorithm = text(head, "alg");
  jwt.key_id = text(head, "kid");
  jwt.issuer = text(claims, "iss");
  jwt.email = text(claims, "email");
  jwt.email_verified = flag(claims, "email_verified");
  if (const auto audience = claims.find("aud"); audience != claims.end()) {
    for (const Json& one : audience->is_array() ? *audience : Json::array({*audience}))
      if (one.is_string()) jwt.audiences.push_back(one.get<std::string>());
  }
  jwt.expires_s = seconds(claims, "exp");
  jwt.issued_s = seconds(claims, "iat");
  jwt.not_before_s = seconds(claims, "nbf");
  jwt.signed_text = token.substr(0, parts[0].size() + 1 + parts[1].size());
  jwt.signature = *signature;
  return jwt;
}

std::string refuse_claims(const JwtParts& jwt, const CallerSettings& settings, int64_t now_s) {
  if (jwt.algorithm != "RS256") return "its algorithm is not RS256";
  // Google writes its name both ways.
  const auto bare = [](std::string_view issuer) { return issuer.starts_with("https://") ? issuer.substr(8) : issuer; };
  if (jwt.issuer.empty() || bare(jwt.issuer) != bare(settings.issuer)) return "it has another issuer";
  if (std::find(jwt.audiences.begin(), jwt.audiences.end(), settings.audience) == jwt.audiences.end())
    return "it is for another audience";
  if (jwt.expires_s + kLeewayS < now_s) return "it has expired";
  if (jwt.issued_s > now_s + kLeewayS || jwt.not_before_s > now_s + kLeewayS) return "it is not valid yet";
  return {};
}

int CallerCheck::check(std::string_view authorization, std::string& why) {
  if (settings_.open()) return 0;
  constexpr std::string_view kScheme = "bearer ";
  if (lower(authorization.substr(0, kScheme.size())) != kScheme) {
    why = "an Authorization header with a bearer token is needed";
    return 401;
  }
  const std::string_view token = trim(authorization.substr(kScheme.size()));
  if (!settings_.token.empty() && same_secret(token, settings_.token)) return 0;
  if (settings_.audience.empty()) {
    why = "the token is wrong";
    return 401;
  }
  return check_identity(token, why);
}

int CallerCheck::check_identity(std::string_view token, std::string& why) {
  const auto jwt = parse_jwt(token);
  why = jwt ? refuse_claims(*jwt, settings_, system_clock().realtime_ns() / kNsPerSec) : jwt.error().what;
  if (!why.empty()) {
    why = "the identity token is refused: " + why;
    return 401;
  }
  JwtKey found;
  if (!key(jwt->key_id, found)) {
    why = "the keys for identity tokens cannot be fetched now";
    return 503;
  }
  if (!verify_rs256(jwt->signed_text, jwt->signature, found.modulus, found.exponent)) {
    why = "the identity token is refused: its signature is wrong";
    return 401;
  }
  const bool named = std::find(settings_.emails.begin(), settings_.emails.end(), jwt->email) != settings_.emails.end();
  if (settings_.emails.empty() || (named && jwt->email_verified)) return 0;
  why = "this account may not call: " + jwt->email;
  return 403;
}

bool CallerCheck::key(const std::string& key_id, JwtKey& found) {
  const std::lock_guard lock(mutex_);
  const int64_t now_ns = system_clock().monotonic_ns();
  bool have = keys_.contains(key_id);
  // Unknown keys make a fetch only now and then, so that nobody makes us knock at Google's door all day.
  if ((!have || now_ns > keys_until_ns_) && now_ns >= not_before_ns_) {
    const bool fetched = fetch_keys(now_ns);
    have = keys_.contains(key_id);
    if (!fetched && !have) return false;
  }
  found = have ? keys_[key_id] : JwtKey();  // an unknown key verifies nothing
  return have || !keys_.empty();
}

bool CallerCheck::fetch_keys(int64_t now_ns) {
  HttpRequest request;
  request.url = settings_.jwks_url;
  request.body_limit = 256 * 1024;
  request.connect_ms = request.response_ms = request.total_ms = 10'000;
  const auto answer = http_.send(request);
  auto keys = answer && answer->status == 200 ? parse_jwks(answer->body) : std::map<std::string, JwtKey>();
  if (keys.empty()) {
    log::warn("the keys for identity tokens cannot be fetched from " + settings_.jwks_url + "; it is tried again");
    not_before_ns_ = now_ns + kNsPerSec;
    return false;
  }
  keys_ = std::move(keys);
  keys_until_ns_ = now_ns + max_age_ns(answer->header("cache-control"));
  not_before_ns_ = now_ns + kBetweenFetchesNs;
  return true;
}

}  // namespace tacho
