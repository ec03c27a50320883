#include "cromwell/caller_check.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/base64.h"
#include "base/units.h"
#include "net/google/rs256.h"

namespace tacho {
namespace {

// A token of 2023 with its key, made by openssl; the private key is gone.
const std::string kModulus =
    "wcAmvSgqpCRPwx1VDHVWJbTinSFCltv4tKKVYGgVYmz5s9XR0aKly_YNk7QNQbUn8mVwrb6nySzqBLVbN-s1_lQ1NTOMVyUwd5Pg"
    "WjDw-SX4SaDOYpr-DJSMl6vsjT28K7-xpgJVwQXPia21DS_tORdXC954XlImq6SCHio2v0j7th88TaHSTWxvQH3uD1KHcZBU_JNW"
    "nBTx4v-M_QHFIErgqtWyYGnTw0E6lYd2D7ee2SqgdTOdM3pZu5xVqKoDC6YmDl9SHasCdnIvvLOvLjTni1fZ4DPAhxa7Oj-3Cv3e"
    "1xxGSdmQoPKaSPTUfsMGbfm4K1Pp4WPWeyB0l2vZ7Q";
const std::string kToken =
    "eyJhbGciOiJSUzI1NiIsImtpZCI6ImsxIiwidHlwIjoiSldUIn0.eyJpc3MiOiJodHRwczovL2FjY291bnRzLmdvb2dsZS5jb20i"
    "LCJhdWQiOiJodHRwczovL3N2YyIsImVtYWlsIjoicHVzaEBwLmlhbSIsImVtYWlsX3ZlcmlmaWVkIjp0cnVlLCJpYXQiOjE3MDAw"
    "MDAwMDAsImV4cCI6MTcwMDAwMzYwMH0.vgIbr1JtVzlfAoaQFHrY1d0ULT3QB2ur_l4oDPUDiWv6q-1sWSfxEKUbESOeVAzvSTBQ"
    "7lp3455FCQ5qlqZ0td59x_YejsJsklv5265PMxlDr_fv67mBmxpJfzolZ3Kovtr2w3DNLEK3wsa-TOPqty6PSnQ0x7GN92PzP88a"
    "hF2pBtrimO3BzkT4eG3uHzaSBbWK7YVcfnNNK79DC16Sks9zAUyqHS2VJnEYYAxz1Tw6hPFoxCZt7QGhrEr0zA_YdlFA1XEO1BfA"
    "uKV_QNhRJCiDInjEJp4d4PrWizHIDq_mHcMfKJjHLoQRC1P9s2FwKIbAgPx5N1jVYk5sUFDd7A";
constexpr int64_t kThen = 1'700'000'100;

CallerSettings settings() {
  CallerSettings result;
  result.audience = "https://svc";
  return result;
}

TEST(CallerCheck, ReadsAToken) {
  const auto jwt = parse_jwt(kToken);
  ASSERT_TRUE(jwt);
  EXPECT_EQ(jwt->algorithm, "RS256");
  EXPECT_EQ(jwt->key_id, "k1");
  EXPECT_EQ(jwt->email, "push@p.iam");
  EXPECT_TRUE(jwt->email_verified);
  EXPECT_EQ(jwt->audiences, std::vector<std::string>{"https://svc"});
  for (const std::string text : {"", "a", "a.b", "a.b.c", "....", "e30.e30.", "!.e30.e30"}) {
    const auto parsed = parse_jwt(text);
    EXPECT_TRUE(!parsed || !refuse_claims(*parsed, settings(), kThen).empty()) << text;
  }
}

TEST(CallerCheck, VerifiesTheSignature) {
  const auto jwt = parse_jwt(kToken);
  const auto keys =
      parse_jwks(R"({"keys":[{"kty":"EC","kid":"e"},{"kty":"RSA","kid":"k1","e":"AQAB","n":")" + kModulus + R"("}]})");
  ASSERT_EQ(keys.size(), 1u);
  const JwtKey& key = keys.at("k1");
  EXPECT_TRUE(verify_rs256(jwt->signed_text, jwt->signature, key.modulus, key.exponent));
  EXPECT_FALSE(verify_rs256(jwt->signed_text + "x", jwt->signature, key.modulus, key.exponent));
  std::string other = jwt->signature;
  other[7] = static_cast<char>(other[7] ^ 1);
  EXPECT_FALSE(verify_rs256(jwt->signed_text, other, key.modulus, key.exponent));
  EXPECT_FALSE(verify_rs256(jwt->signed_text, "", key.modulus, key.exponent));
  EXPECT_FALSE(verify_rs256(jwt->signed_text, jwt->signature, "", ""));
  EXPECT_FALSE(
      verify_rs256(jwt->signed_text, jwt->signature, key.modulus.substr(0, 100), key.exponent));  // too short a key
}

TEST(CallerCheck, ChecksTheClaims) {
  const auto jwt = *parse_jwt(kToken);
  EXPECT_EQ(refuse_claims(jwt, settings(), kThen), "");
  EXPECT_NE(refuse_claims(jwt, settings(), kThen + 7200), "");  // expired
  EXPECT_NE(refuse_claims(jwt, settings(), kThen - 7200), "");  // not yet
  CallerSettings other = settings();
  other.audience = "https://other";
  EXPECT_NE(refuse_claims(jwt, other, kThen), "");
  other = settings();
  other.issuer = "https://evil.example";
  EXPECT_NE(refuse_claims(jwt, other, kThen), "");
  other.issuer = "accounts.google.com";
  EXPECT_EQ(refuse_claims(jwt, other, kThen), "");
  JwtParts none = jwt;
  none.algorithm = "none";
  EXPECT_NE(refuse_claims(none, settings(), kThen), "");
  none.algorithm = "HS256";
  EXPECT_NE(refuse_claims(none, settings(), kThen), "");
}

TEST(CallerCheck, SharedToken) {
  CallerSettings shared;
  shared.token = "secret";
  CallerCheck check(shared);
  std::string why;
  EXPECT_EQ(check.check("Bearer secret", why), 0);
  EXPECT_EQ(check.check("bearer  secret", why), 0);
  for (const char* header : {"", "secret", "Bearer", "Bearer ", "Bearer secre", "Bearer secret2", "Basic secret"})
    EXPECT_EQ(check.check(header, why), 401) << header;
  CallerCheck open{CallerSettings()};
  EXPECT_EQ(open.check("", why), 0);
}

// Keys by hand, and a clock by hand.
struct Keys {
  std::atomic<int64_t> now_ns = 1'000'000'000'000;
  std::atomic<int> asked = 0;
  std::atomic<bool> hangs = false, fails = false;
  std::string id = "k1";
  KeyStore::Fetch fetch() {
    return [this](const std::function<bool()>& cancelled) -> FetchedKeys {
      asked++;
      while (hangs && !cancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (fails || cancelled()) return {};
      return {{{id, {"m", "e"}}}, 600 * kNsPerSec};
    };
  }
  KeyStore::Now now() {
    return [this] { return now_ns.load(); };
  }
};

TEST(KeyStore, KeepsKeysAndAsksSeldomForUnknownOnes) {
  Keys keys;
  KeyStore store(keys.fetch(), keys.now());
  JwtKey key;
  EXPECT_EQ(store.find("k1", key), KeyStore::Found::yes);
  EXPECT_EQ(key.modulus, "m");
  for (int i = 0; i < 100; ++i) EXPECT_EQ(store.find("k2", key), KeyStore::Found::unknown);
  EXPECT_EQ(keys.asked, 1);
  keys.now_ns += 31 * kNsPerSec;
  EXPECT_EQ(store.find("k2", key), KeyStore::Found::unknown);
  EXPECT_EQ(keys.asked, 2);
}

TEST(KeyStore, ExpiredKeysAreUsedForAnHourAtTheMost) {
  Keys keys;
  KeyStore store(keys.fetch(), keys.now());
  JwtKey key;
  EXPECT_EQ(store.find("k1", key), KeyStore::Found::yes);
  keys.fails = true;
  keys.now_ns += 601 * kNsPerSec;
  EXPECT_EQ(store.find("k1", key), KeyStore::Found::yes) << "their server is away for the moment";
  EXPECT_EQ(keys.asked, 2);
  EXPECT_EQ(store.find("k2", key), KeyStore::Found::not_now);
  keys.now_ns += 3'600 * kNsPerSec;
  EXPECT_EQ(store.find("k1", key), KeyStore::Found::not_now);
  keys.fails = false;
  keys.id = "k3";  // the old one was withdrawn
  keys.now_ns += 6 * kNsPerSec;
  EXPECT_EQ(store.find("k1", key), KeyStore::Found::unknown);
  EXPECT_EQ(store.find("k3", key), KeyStore::Found::yes);
}

TEST(KeyStore, AServerThatHangsHoldsUpNobodyWithAKnownKey) {
  Keys keys;
  KeyStore store(keys.fetch(), keys.now());
  JwtKey key;
  EXPECT_EQ(store.find("k1", key), KeyStore::Found::yes);
  keys.hangs = true;
  keys.now_ns += 31 * kNsPerSec;
  std::atomic<int> begun = 0, not_now = 0;
  std::vector<std::thread> strangers;
  for (int i = 0; i < 60; ++i)
    strangers.emplace_back([&] {
      begun++;
      JwtKey none;
      if (store.find("other", none) == KeyStore::Found::not_now) not_now++;
    });
  // All but a few are told at once; the known key is served meanwhile.
  while (begun < 60 || not_now < 60 - KeyStore::kMostWaiting) {
    ASSERT_EQ(store.find("k1", key), KeyStore::Found::yes);
    std::this_thread::yield();
  }
  EXPECT_EQ(keys.asked, 2) << "one fetcher";
  keys.hangs = false;
  for (std::thread& one : strangers) one.join();
}

TEST(KeyStore, EndsWhileItsServerHangs) {
  Keys keys;
  keys.hangs = true;
  KeyStore store(keys.fetch(), keys.now(), 50 * kNsPerMs);
  JwtKey key;
  EXPECT_EQ(store.find("k1", key), KeyStore::Found::not_now);
  EXPECT_EQ(keys.asked, 1);
}

TEST(CallerCheck, AnAudienceAloneLetsNobodyIn) {
  CallerSettings only = settings();
  CallerCheck check(only, [](const std::function<bool()>&) -> FetchedKeys {
    return {parse_jwks(R"({"keys":[{"kty":"RSA","kid":"k1","e":"AQAB","n":")" + kModulus + R"("}]})"), 600 * kNsPerSec};
  });
  std::string why;
  EXPECT_NE(check.check("Bearer " + kToken, why), 0);
}

TEST(CallerCheck, TokensOfLongLifeAndDeepOnesAreRefused) {
  JwtParts jwt = *parse_jwt(kToken);
  jwt.expires_s = kThen + 10 * 86'400;
  EXPECT_NE(refuse_claims(jwt, settings(), kThen), "");
  std::string open, close;  // {"a":[[[…]]]}, in base64
  for (int i = 0; i < 1'000; ++i) open += "W1tb", close += "XV1d";
  EXPECT_TRUE(parse_jwt("e30.eyJhIjpbXX0."));
  EXPECT_FALSE(parse_jwt("e30.eyJhIjpb" + open + close + "XX0."));
  std::string keys = "{\"keys\":[" + std::string(100'000, '[') + std::string(100'000, ']') + "]}";
  EXPECT_TRUE(parse_jwks(keys).empty());
}

TEST(CallerCheck, Base64) {
  EXPECT_EQ(base64_decode("YQ=="), "a");
  EXPECT_EQ(base64_decode("YQ"), "a");
  EXPECT_EQ(base64_decode("-_-_"), base64_decode("+/+/"));
  EXPECT_EQ(base64_decode(""), "");
  for (const char* text : {"Y", "Y===", "YQ=a", "Y*Q="}) EXPECT_FALSE(base64_decode(text)) << text;
}

}  // namespace
}  // namespace tacho
