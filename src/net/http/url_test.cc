#include "net/http/url.h"

#include <gtest/gtest.h>

#include "support/double.h"

namespace tacho {
namespace {

TEST(Url, TakesItsParts) {
  const Result<Url> url = parse_url("HTTPS://Api.Example.COM/base/%20x?q=1#f");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->scheme, "https");
  EXPECT_EQ(url->host, "api.example.com");
  EXPECT_EQ(url->path, "/base/%20x");
  EXPECT_EQ(url->query, "q=1");
  EXPECT_EQ(url->port, 443);
  EXPECT_EQ(url->host_header(), "api.example.com");
  EXPECT_EQ(parse_url("http://h:8080")->host_header(), "h:8080");
  EXPECT_EQ(parse_url("http://h:80/")->host_header(), "h");
  EXPECT_EQ(parse_url("https://h:80/")->host_header(), "h:80");
  for (const char* bad : {"", "h", "ftp://h/", "file:///etc/passwd", "http://", "http://h/a b", "http://h/\r\nX: 1",
                          "s3://b/k", "https://h:99999/"}) {
    EXPECT_FALSE(parse_url(bad)) << bad;
  }
}

TEST(Url, AllowsPlainHttpForLoopbackOnly) {
  const WithVariable unset("TACHO_ALLOW_HTTP", nullptr);
  for (const char* good : {"https://api.example.com/x", "http://localhost:1", "http://127.0.0.1/",
                           "http://127.8.9.10:80/", "http://[::1]:9/", "http://b.localhost/"}) {
    EXPECT_TRUE(check_url(good)) << good;
  }
  for (const char* bad :
       {"http://api.example.com/", "http://10.0.0.1/", "http://localhost.evil.com/", "http://127.0.0.1.evil.com/",
        "http://[::2]/", "https://user:secret@h/", "gopher://localhost/"}) {
    const Status status = check_url(bad);
    ASSERT_FALSE(status) << bad;
    EXPECT_EQ(status.error().code, Code::invalid);
    EXPECT_FALSE(status.error().hint.empty());
    EXPECT_EQ(status.error().message().find("secret@"), std::string::npos);
  }
  const WithVariable allow("TACHO_ALLOW_HTTP", "1");
  EXPECT_TRUE(check_url("http://api.example.com/"));
}

TEST(Url, FollowsOnlyWhatStaysAtHome) {
  EXPECT_EQ(follow_redirect("https://h/a/b", "c").value_or(""), "https://h/a/c");
  EXPECT_EQ(follow_redirect("https://h/a/b", "/c?d#e").value_or(""), "https://h/c?d");
  EXPECT_EQ(follow_redirect("http://h/a", "https://h/a").value_or(""), "https://h/a");
  EXPECT_EQ(follow_redirect("https://H/a", "https://h/c").value_or(""), "https://h/c");
  for (const char* bad : {"https://other/a", "http://h/a", "//other/a", "https://h:444/a", "https://user@h/",
                          "javascript:1", "https://h.evil/"}) {
    EXPECT_FALSE(follow_redirect("https://h/a", bad)) << bad;
  }
}

TEST(Url, EncodesAndDecodes) {
  EXPECT_EQ(percent_encode("a/b c+d=e~f_g-h.i\xC3\xA9%", true), "a/b%20c%2Bd%3De~f_g-h.i%C3%A9%25");
  EXPECT_EQ(percent_encode("a/b", false), "a%2Fb");
  EXPECT_EQ(percent_decode("a%2Fb%20%C3%A9"), "a/b \xC3\xA9");
  EXPECT_EQ(percent_decode("100%"), "100%");
  EXPECT_EQ(percent_decode("%zz%4"), "%zz%4");
  EXPECT_EQ(percent_decode("%41"), "A");
}

TEST(Url, ReadsDates) {
  EXPECT_EQ(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), 784'111'777);
  EXPECT_EQ(parse_http_date("Sunday, 06-Nov-94 08:49:37 GMT"), 784'111'777);
  EXPECT_EQ(parse_http_date("never"), std::nullopt);
  EXPECT_EQ(parse_http_date(""), std::nullopt);
}

}  // namespace
}  // namespace tacho
