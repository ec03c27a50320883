#include "cromwell/caller_check.h"

#include <gtest/gtest.h>

#include "net/base64.h"
#include "net/rs256.h"

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
  const auto keys = parse_jwks(R"({"keys":[{"kty":"EC","kid":"e"},{"kty":"RSA","kid":"k1","e":"AQAB","n":")" + kModulus + R"("}]})");
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
  EXPECT_NE(refuse_claims(jwt, settings(), kThen + 7200), "");   // expired
  EXPECT_NE(refuse_claims(jwt, settings(), kThen - 7200), "");   // not yet
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

TEST(CallerCheck, Base64) {
  EXPECT_EQ(base64_decode("YQ=="), "a");
  EXPECT_EQ(base64_decode("YQ"), "a");
  EXPECT_EQ(base64_decode("-_-_"), base64_decode("+/+/"));
  EXPECT_EQ(base64_decode(""), "");
  for (const char* text : {"Y", "Y===", "YQ=a", "Y*Q="}) EXPECT_FALSE(base64_decode(text)) << text;
}

}  // namespace
}  // namespace tacho
