// Against what AWS has published: the Signature Version 4 test suite (service "service", 30 August 2015) and the
// examples of the S3 documentation ("Signature Calculations for the Authorization Header").
#include "net/aws/sigv4.h"

#include <gtest/gtest.h>

#include "base/base64.h"
#include "net/http/digest.h"

namespace tacho {
namespace {

constexpr const char* kEmptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

struct Vector {
  const char* name;
  const char* method;
  std::string path;  // not encoded
  const char* query;
  Headers headers;
  const char* body;
  const char* signature;
};

std::string sign(const Vector& vector, const SigV4Scope& scope, const char* secret) {
  const std::string hash = hex(sha256(vector.body));
  const std::string path = percent_encode(vector.path, true);
  const SigV4Request request{vector.method, path, vector.query, vector.headers, hash};
  return sigv4_signature(secret, scope, string_to_sign(scope, canonical_request(request)));
}

TEST(SigV4, SignsTheVectorsOfTheSuite) {
  constexpr const char* kUnreserved = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const std::string both = std::string(kUnreserved) + "=" + kUnreserved;
  const Vector vectors[] = {
      {"get-vanilla", "GET", "/", "", {}, "", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
      {"get-vanilla-empty-query-key",
       "GET",
       "/",
       "Param1=value1",
       {},
       "",
       "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"},
      {"get-vanilla-query-order-key-case",
       "GET",
       "/",
       "Param2=value2&Param1=value1",
       {},
       "",
       "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
      {"get-vanilla-query-order-encoded",
       "GET",
       "/",
       "Param-3=Value3&Param=Value2&%E1%88%B4=Value1",
       {},
       "",
       "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac"},
      {"get-vanilla-query-unreserved",
       "GET",
       "/",
       both.c_str(),
       {},
       "",
       "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"},
      {"get-vanilla-utf8-query",
       "GET",
       "/",
       "\xE1\x88\xB4=bar",
       {},
       "",
       "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"},
      {"get-space",
       "GET",
       "/example space/",
       "",
       {},
       "",
       "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"},
      {"get-utf8",
       "GET",
       "/\xE1\x88\xB4",
       "",
       {},
       "",
       "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
      {"get-unreserved",
       "GET",
       std::string("/") + kUnreserved,
       "",
       {},
       "",
       "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"},
      {"get-slashes-unnormalized",
       "GET",
       "//example//",
       "",
       {},
       "",
       "87cca117541a147f6df867677d98a7d80dff226d2bfca9e4ffa899665623c7e5"},
      {"get-header-key-duplicate",
       "GET",
       "/",
       "",
       {{"My-Header1", "value2"}, {"My-Header1", "value2"}, {"My-Header1", "value1"}},
       "",
       "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"},
      {"get-header-value-trim",
       "GET",
       "/",
       "",
       {{"My-Header1", " value1"}, {"My-Header2", " \"a   b   c\""}},
       "",
       "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
      {"get-vanilla-with-session-token",
       "GET",
       "/",
       "",
       {{"X-Amz-Security-Token", "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267"}},
       "",
       "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8"},
      {"post-vanilla", "POST", "/", "", {}, "", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
      {"post-header-key-sort",
       "POST",
       "/",
       "",
       {{"My-Header1", "value1"}},
       "",
       "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c"},
      {"post-header-value-case",
       "POST",
       "/",
       "",
       {{"My-Header1", "VALUE1"}},
       "",
       "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d"},
      {"post-x-www-form-urlencoded",
       "POST",
       "/",
       "",
       {{"Content-Type", "application/x-www-form-urlencoded"}},
       "Param1=value1",
       "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
  };
  const SigV4Scope scope{"20150830T123600Z", "us-east-1", "service"};
  for (Vector vector : vectors) {
    vector.headers.emplace_back("Host", "example.amazonaws.com");
    vector.headers.emplace_back("X-Amz-Date", scope.time);
    EXPECT_EQ(sign(vector, scope, "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"), vector.signature) << vector.name;
  }
}

TEST(SigV4, SignsTheExamplesOfTheS3Documentation) {
  const Vector vectors[] = {
      {"GET Object",
       "GET",
       "/test.txt",
       "",
       {{"Range", "bytes=0-9"}},
       "",
       "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
      {"PUT Object",
       "PUT",
       "/test$file.text",
       "",
       {{"Date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
       "Welcome to Amazon S3.",
       "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"},
      {"GET Bucket Lifecycle",
       "GET",
       "/",
       "lifecycle",
       {},
       "",
       "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
      {"Get Bucket (List Objects)",
       "GET",
       "/",
       "prefix=J&max-keys=2",
       {},
       "",
       "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
  };
  const SigV4Scope scope{"20130524T000000Z", "us-east-1", "s3"};
  for (Vector vector : vectors) {
    vector.headers.emplace_back("Host", "examplebucket.s3.amazonaws.com");
    vector.headers.emplace_back("x-amz-date", scope.time);
    vector.headers.emplace_back("x-amz-content-sha256", hex(sha256(vector.body)));
    EXPECT_EQ(sign(vector, scope, "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"), vector.signature) << vector.name;
  }
}

// Each step by itself, so that a failure above says where.
TEST(SigV4, TakesTheStepsOfTheSpecification) {
  const SigV4Scope scope{"20130524T000000Z", "us-east-1", "s3"};
  const Headers headers = {{"Range", "bytes=0-9"},
                           {"Host", "examplebucket.s3.amazonaws.com"},
                           {"x-amz-date", scope.time},
                           {"x-amz-content-sha256", kEmptyHash}};
  const SigV4Request request{"GET", "/test.txt", "", headers, kEmptyHash};
  const std::string canonical = canonical_request(request);
  EXPECT_EQ(
      canonical,
      std::string("GET\n/test.txt\n\nhost:examplebucket.s3.amazonaws.com\nrange:bytes=0-9\nx-amz-content-sha256:") +
          kEmptyHash + "\nx-amz-date:20130524T000000Z\n\nhost;range;x-amz-content-sha256;x-amz-date\n" + kEmptyHash);
  EXPECT_EQ(string_to_sign(scope, canonical),
            "AWS4-HMAC-SHA256\n20130524T000000Z\n20130524/us-east-1/s3/"
            "aws4_request\n7344ae5b7ee6c3e7e6b0fe0640412a37625d1fbfff95c48bbb2dc43964946972");
  EXPECT_EQ(authorization(request, scope, "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
            "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
            "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(SigV4, WritesTheTimeInUtc) {
  EXPECT_EQ(sigv4_time(1'369'353'600'999'999'999), "20130524T000000Z");
  EXPECT_EQ(sigv4_time(0), "19700101T000000Z");
  EXPECT_EQ(sigv4_time(1'709'251'199'000'000'000), "20240229T235959Z");
}

TEST(SigV4, HashesAsTheStandardsSay) {
  EXPECT_EQ(hex(sha256("")), kEmptyHash);
  EXPECT_EQ(hex(md5("abc")), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  // RFC 4231, test case 2.
  EXPECT_EQ(hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

}  // namespace
}  // namespace tacho
