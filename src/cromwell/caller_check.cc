#include "cromwell/caller_check.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/json_bounds.h"
#include "base/text.h"
#include "base/units.h"
#include "net/google/rs256.h"
#include "net/http/json_text.h"
#include "os/clock.h"

namespace tacho {
namespace {

using Json = nlohmann::json;

constexpr int64_t kLeewayS = 60;
constexpr int64_t kMostLifeS = 86'400;  // of a token; Google's have an hour
constexpr size_t kMostTokenBytes = 16 * 1024;
constexpr JsonBounds kTokenBounds{kMostTokenBytes, 8, 1'000};

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

}  // namespace

Result<JwtParts> parse_jwt(std::string_view token) {
  const Error broken{Code::invalid, "the identity token cannot be read", "", "send a JSON web token"};
  const auto parts = split(token, '.');
  if (parts.size() != 3 || token.size() > kMostTokenBytes) return broken;
  const auto head_bytes = base64_decode(parts[0]), claim_bytes = base64_decode(parts[1]),
             signature = base64_decode(parts[2]);
  if (!head_bytes || !claim_bytes || !signature) return broken;
  const Json head = parse_bounded<Json>(*head_bytes, kTokenBounds),
             claims = parse_bounded<Json>(*claim_bytes, kTokenBounds);
  if (!head.is_object() || !claims.is_object()) return broken;
  JwtParts jwt;
  jwt.algorithm = json_text(head, "alg");
  jwt.key_id = json_text(head, "kid");
  jwt.issuer = json_text(claims, "iss");
  jwt.email = json_text(claims, "email");
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
  if (jwt.expires_s > now_s + kMostLifeS) return "it is valid for longer than a day";
  if (jwt.issued_s > now_s + kLeewayS || jwt.not_before_s > now_s + kLeewayS) return "it is not valid yet";
  return {};
}

CallerCheck::CallerCheck(CallerSettings settings, KeyStore::Fetch fetch) : settings_(std::move(settings)) {
  if (settings_.audience.empty()) return;
  if (!fetch)
    fetch = [url = settings_.jwks_url](const std::function<bool()>& cancelled) { return fetch_keys(url, cancelled); };
  keys_ = std::make_unique<KeyStore>(std::move(fetch));
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
  JwtKey key;
  switch (keys_->find(jwt->key_id, key)) {
    case KeyStore::Found::not_now: return why = "the keys for identity tokens cannot be fetched now", 503;
    case KeyStore::Found::unknown: return why = "the identity token is refused: its key is not known", 401;
    case KeyStore::Found::yes: break;
  }
  if (!verify_rs256(jwt->signed_text, jwt->signature, key.modulus, key.exponent)) {
    why = "the identity token is refused: its signature is wrong";
    return 401;
  }
  const bool named = std::find(settings_.emails.begin(), settings_.emails.end(), jwt->email) != settings_.emails.end();
  if (named && jwt->email_verified) return 0;
  why = "this account may not call: " + harmless_text(jwt->email.substr(0, 200));
  return 403;
}

}  // namespace tacho
