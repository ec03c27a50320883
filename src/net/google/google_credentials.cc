#include "net/google/google_credentials.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/json_bounds.h"
#include "net/http/json_text.h"

namespace tacho {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kLife_s = 3600, kBackdate_s = 10, kUnknownLife_s = 300, kLongestLife_s = 86'400;
constexpr const char* kTokenUri = "https://oauth2.googleapis.com/token";

void wipe(std::string& text) { ::explicit_bzero(text.data(), text.size()); }

// A person's own text may become part of a message only when it is short and plain.
std::string shown(const std::string& text) {
  const bool plain =
      text.size() <= 40 && std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
  return plain ? text : "?";
}

using PrivateKey = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

PrivateKey read_key(const std::string& pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())),
                                                      &BIO_free);
  // A key with a pass phrase is refused, never asked about on the terminal.
  pem_password_cb* const no_phrase = [](char*, int, int, void*) { return -1; };
  return {bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, no_phrase, nullptr) : nullptr, &EVP_PKEY_free};
}

std::string sign_rs256(EVP_PKEY* key, std::string_view text) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  size_t size = 0;
  if (!context || EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size()) != 1)
    return {};
  std::string signature(size, '\0');
  if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, bytes, text.size()) != 1)
    return {};
  signature.resize(size);
  return signature;
}

}  // namespace

GoogleCredentials::~GoogleCredentials() {
  for (std::string* secret : {&private_key, &client_secret, &refresh_token}) wipe(*secret);
}

std::string base64url(std::string_view bytes) {
  std::string text = base64(bytes);
  while (text.ends_with('=')) text.pop_back();
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  return text;
}

Result<GoogleCredentials> parse_google_credentials(std::string_view text, const std::string& path) {
  const Json json = parse_bounded<Json>(text);
  if (!json.is_object())
    return Error{Code::invalid, "this is no Google credentials file", path,
                 "name the JSON key file of a service account"};
  GoogleCredentials credentials;
  credentials.project = json_text(json, "project_id");
  if (credentials.project.empty()) credentials.project = json_text(json, "quota_project_id");
  credentials.token_uri = json_text(json, "token_uri");
  const std::string type = json_text(json, "type");
  if (type == "service_account") {
    credentials.client_email = json_text(json, "client_email");
    credentials.private_key = json_text(json, "private_key");
    credentials.private_key_id = json_text(json, "private_key_id");
    if (credentials.client_email.empty() || credentials.private_key.empty())
      return Error{Code::invalid, "client_email or private_key is missing in the credentials file", path,
                   "download the key file again"};
    return credentials;
  }
  if (type == "authorized_user") {
    credentials.type = GoogleCredentials::Type::authorized_user;
    credentials.client_id = json_text(json, "client_id");
    credentials.client_secret = json_text(json, "client_secret");
    credentials.refresh_token = json_text(json, "refresh_token");
    if (credentials.token_uri.empty()) credentials.token_uri = kTokenUri;
    if (credentials.client_id.empty() || credentials.client_secret.empty() || credentials.refresh_token.empty())
      return Error{Code::invalid, "client_id, client_secret or refresh_token is missing in the credentials file", path,
                   "run gcloud auth application-default login again"};
    return credentials;
  }
  return Error{Code::not_available, "Google credentials of type \"" + shown(type) + "\" are not supported", path,
               "use a service account's key, gcloud auth application-default login, --access-token-file, or the "
               "machine's own service account"};
}

Result<std::string> service_account_jwt(const GoogleCredentials& credentials, std::string_view scope,
                                        std::string_view audience, int64_t now_s) {
  Json header{{"alg", "RS256"}, {"typ", "JWT"}};
  if (!credentials.private_key_id.empty()) header["kid"] = credentials.private_key_id;
  const int64_t issued_s = now_s - kBackdate_s;
  Json claims{{"iss", credentials.client_email}, {"scope", scope}, {"iat", issued_s}, {"exp", issued_s + kLife_s}};
  if (audience.empty()) claims["sub"] = credentials.client_email;
  else claims["aud"] = audience;
  const auto replace = Json::error_handler_t::replace;
  const std::string text =
      base64url(header.dump(-1, ' ', false, replace)) + "." + base64url(claims.dump(-1, ' ', false, replace));
  const PrivateKey key = read_key(credentials.private_key);
  const std::string signature = key ? sign_rs256(key.get(), text) : "";
  if (signature.empty())
    return Error{Code::invalid, "the private key in the credentials file cannot be used", "",
                 "download the service account's key file again"};
  return text + "." + base64url(signature);
}

std::optional<GoogleTokenAnswer> parse_token_answer(std::string_view text) {
  const Json json = parse_bounded<Json>(text);
  if (!json.is_object()) return std::nullopt;
  GoogleTokenAnswer answer{json_text(json, "access_token"), 0};
  const auto usable = [](char c) { return c > ' ' && c < 0x7f; };
  if (answer.token.empty() || !std::all_of(answer.token.begin(), answer.token.end(), usable)) return std::nullopt;
  const auto life = json.find("expires_in");
  if (life != json.end() && life->is_number()) {
    const double seconds = life->get<double>();
    if (seconds > 0) answer.expires_in_s = static_cast<int64_t>(std::min(seconds, static_cast<double>(kLongestLife_s)));
  }
  if (answer.expires_in_s <= 0) answer.expires_in_s = kUnknownLife_s;
  return answer;
}

}  // namespace tacho
