#include "net/aws/aws_credentials.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "net/aws/aws_metadata.h"
#include "net/aws/aws_process.h"
#include "net/aws/aws_profile.h"
#include "net/aws/aws_sso.h"
#include "net/aws/aws_sso_token.h"
#include "net/aws/aws_test_support.h"
#include "net/http/digest.h"

namespace tacho {
namespace {

TEST_F(Aws, SaysWhatToDoWhenThereAreNone) {
  const Error error = failure();
  EXPECT_EQ(error.code, Code::invalid);
  EXPECT_NE(error.hint.find("AWS_ACCESS_KEY_ID"), std::string::npos);
}

TEST_F(Aws, TakesTheVariablesFirst) {
  set("AWS_ACCESS_KEY_ID", " AK ");
  EXPECT_EQ(failure().path, "AWS_SECRET_ACCESS_KEY");
  set("AWS_SECRET_ACCESS_KEY", "SK");
  EXPECT_EQ(found(), "AK/SK/");
  set("AWS_SESSION_TOKEN", "T");
  EXPECT_EQ(found(), "AK/SK/T");
  EXPECT_GT(find_aws_credentials(http_)->received_monotonic_ns, 0);
  EXPECT_EQ(server_->log(), "[]");
}

TEST_F(Aws, ReadsTheSharedFilesAndProfiles) {
  make_file(".aws/credentials",
            "[default]\naws_access_key_id = AK1\naws_secret_access_key=SK1\n\n[build]\r\naws_access_key_id = "
            "AK2\r\naws_secret_access_key = a=b # mine\r\n");
  EXPECT_EQ(found(), "AK1/SK1/");
  set("AWS_PROFILE", "build");
  EXPECT_EQ(found(), "AK2/a=b/");
  set("AWS_PROFILE", "absent");
  EXPECT_EQ(failure().path, "absent");
  make_file("config",
            "[profile  work]\naws_access_key_id = AK3\ns3 =\n  aws_access_key_id = no\naws_secret_access_key = "
            "SK3\naws_session_token = T3\n[profile sso]\nsso_region = x\n");
  set("AWS_CONFIG_FILE", (folder_ / "config").c_str());
  set("AWS_PROFILE", "work");
  EXPECT_EQ(found(), "AK3/SK3/T3");
  set("AWS_PROFILE", "sso");
  EXPECT_EQ(failure().code, Code::invalid);  // and not the instance's role instead
  set("AWS_CONFIG_FILE", "~/config");
  set("AWS_PROFILE", "work");
  EXPECT_EQ(found(), "AK3/SK3/T3");
  set("AWS_PROFILE", "my work");
  make_file("config", "[profile \"my work\"]\naws_access_key_id = AK4\naws_secret_access_key = SK4\n");
  EXPECT_EQ(found(), "AK4/SK4/");
}

TEST_F(Aws, HalfAKeyInAProfileIsNobodyElse) {
  server_->post("/__config", R"({"imds_v2":true,"role":"r"})");
  make_file(".aws/credentials", "[default]\naws_access_key_id = AK1\n");
  EXPECT_EQ(failure().hint, "add aws_secret_access_key");
  make_file(".aws/credentials", "[default]\naws_secret_access_key = SK1\n");
  EXPECT_EQ(failure().hint, "add aws_access_key_id");
  EXPECT_EQ(server_->log(), "[]");
}

TEST_F(Aws, NamesTheFileThatCannotBeRead) {
  set("AWS_SHARED_CREDENTIALS_FILE", (folder_ / "gone").c_str());
  EXPECT_EQ(failure().path, folder_ / "gone");
  set("AWS_PROFILE", "work");
  EXPECT_EQ(failure().path, folder_ / "gone");
  set("AWS_SHARED_CREDENTIALS_FILE", nullptr);
  EXPECT_EQ(failure().path, "work");
  std::filesystem::create_directories(folder_ / ".aws/credentials");  // a folder in its place
  EXPECT_EQ(failure().path, folder_ / ".aws/credentials");
}

TEST_F(Aws, TakesOnTheRoleOfAProfile) {
  make_file(".aws/credentials",
            "[base]\naws_access_key_id = AK1\naws_secret_access_key = SK1\n[wrong]\naws_access_key_id = "
            "AK1\naws_secret_access_key = SK2\n");
  const std::string role = "role_arn = arn:aws:iam::1:role/r\nexternal_id = a b&c\n";
  make_file(".aws/config",
            "[profile work]\nsource_profile = base\n" + role + "[profile env]\ncredential_source = Environment\n" +
                role + "[profile bad]\nsource_profile = wrong\n" + role + "[profile odd]\ncredential_source = Moon\n" +
                role + "[profile a]\nsource_profile = b\n" + role + "[profile b]\nsource_profile = a\n" + role +
                "[profile lost]\nsource_profile = nowhere\n" + role +
                "[profile mfa]\nsource_profile = base\nmfa_serial = x\n" + role);
  server_->post("/__config", R"({"role_arn":"arn:aws:iam::1:role/r","external_id":"a b&c"})");
  set("AWS_PROFILE", "work");
  EXPECT_EQ(found(), "AK-sts/SK-sts/T-sts");
  set("AWS_PROFILE", "env");  // whose variables are empty
  EXPECT_NE(failure().hint.find("credential_source"), std::string::npos);
  for (const char* name : {"bad", "odd", "a", "mfa"}) {
    set("AWS_PROFILE", name);
    EXPECT_EQ(failure().code, Code::invalid) << name;
  }
  set("AWS_PROFILE", "lost");
  EXPECT_EQ(failure().path, "nowhere");
}

TEST_F(Aws, RunsTheProgramOfAProfile) {
  spill(folder_ / "my creds",
        "#!/bin/sh\necho \"$@\" >> \"$0.seen\"\nprintf "
        "'{\"Version\":1,\"AccessKeyId\":\"AKp\",\"SecretAccessKey\":\"SKp\",\"SessionToken\":\"Tp\",\"Expiration\":"
        "\"2026-11-15T09:30:00Z\"}'\n");
  std::filesystem::permissions(folder_ / "my creds", std::filesystem::perms::owner_all);
  const auto use = [&](const std::string& command) {
    make_file(".aws/config",
              "[profile p]\ncredential_process = " + command + "\n[profile r]\nsource_profile = p\nrole_arn = r\n");
  };
  set("AWS_PROFILE", "p");
  use("\"" + folder_.path() + "/my creds\" --user 'he len' $HOME");
  EXPECT_EQ(found(), "AKp/SKp/Tp");
  EXPECT_EQ(slurp(folder_ / "my creds.seen"), "--user he len $HOME\n");
  EXPECT_EQ(find_aws_credentials(http_)->expires_realtime_ns, 1'794'735'000'000'000'000);
  set("AWS_PROFILE", "r");  // with the keys of the other one, which STS here does not know
  EXPECT_NE(failure().what.find("STS refused"), std::string::npos);
  set("AWS_PROFILE", "p");

  use("sh -c 'echo SECRET; echo no ticket >&2; exit 3'");
  EXPECT_EQ(failure().code, Code::io);
  EXPECT_EQ(failure().what, "credential_process of the AWS profile p ended with status 3: no ticket");
  for (const char* wrong : {"/no/such/creds", "'unclosed", "echo SECRET", "echo {\"Version\":2}", "true"}) {
    use(wrong);
    const Error error = failure();
    EXPECT_EQ(error.code, Code::invalid) << wrong;
    EXPECT_EQ(error.message().find("SECRET"), std::string::npos);
    EXPECT_NE(error.message().find("profile p"), std::string::npos);
  }
  use("sleep 1000");
  http_.on_cancel([] { return true; });
  EXPECT_EQ(failure().code, Code::gone);
}

TEST_F(Aws, TakesTheRoleOfASignInBySso) {
  set("AWS_ENDPOINT_URL_SSO", server_->url("/sso/").c_str());
  make_file(".aws/config",
            "[profile new]\nsso_session = corp\nsso_account_id = 42\nsso_role_name = a+b\n[sso-session "
            "corp]\nsso_region = eu-west-1\nsso_start_url = https://corp\n"
            "[profile old]\nsso_start_url = https://old/start\nsso_region = eu-west-1\nsso_account_id = "
            "42\nsso_role_name = a+b\n"
            "[profile half]\nsso_session = corp\nsso_account_id = 42\n[profile lost]\nsso_session = "
            "nowhere\nsso_account_id = 42\nsso_role_name = r\n"
            "[profile on]\nsource_profile = new\nrole_arn = r\n");
  server_->post("/__config", R"({"sso":{"token":"tok/1+=","role":"a+b","account":"42"}})");
  const auto sign_in = [&](const std::string& key, const std::string& token, const std::string& expires) {
    make_file(".aws/sso/cache/" + hex(sha1(key)) + ".json",
              nlohmann::json{{"accessToken", token}, {"expiresAt", expires}}.dump());
  };
  set("AWS_PROFILE", "new");
  EXPECT_EQ(failure().hint, "run aws sso login --profile new");
  sign_in("corp", "tok/1+=", "2020-01-01T00:00:00Z");
  EXPECT_NE(failure().message().find("expired"), std::string::npos);
  EXPECT_EQ(failure().hint, "run aws sso login --profile new");
  EXPECT_EQ(server_->log(), "[]");
  sign_in("corp", "tok/1+=", "2099-01-01T00:00:00Z");
  EXPECT_EQ(found(), "AK-sso/SK-sso/T-sso");
  EXPECT_EQ(find_aws_credentials(http_)->expires_realtime_ns, 1'794'735'000'000'000'000);
  sign_in("https://old/start", "tok/1+=", "2099-01-01T00:00:00UTC");
  set("AWS_PROFILE", "old");
  EXPECT_EQ(found(), "AK-sso/SK-sso/T-sso");
  set("AWS_PROFILE", "on");
  EXPECT_NE(failure().what.find("STS refused"), std::string::npos);

  set("AWS_PROFILE", "new");
  sign_in("corp", "revoked", "2099-01-01T00:00:00Z");
  EXPECT_EQ(failure().hint, "run aws sso login --profile new");
  EXPECT_EQ(failure().code, Code::invalid);
  server_->fault("{}", R"({"status":503,"body":""})");
  EXPECT_EQ(failure().code, Code::io);
  set("AWS_PROFILE", "half");
  EXPECT_NE(failure().what.find("sso_role_name"), std::string::npos);
  set("AWS_PROFILE", "lost");
  EXPECT_NE(failure().what.find("[sso-session nowhere]"), std::string::npos);
  set("AWS_PROFILE", "old");
  set("AWS_ENDPOINT_URL_SSO", "http://portal.example.com");
  EXPECT_EQ(failure().code, Code::invalid);  // plain http: the token would travel in the clear
}

TEST_F(Aws, RenewsTheTokenOfASignInThatLasts) {
  set("AWS_ENDPOINT_URL_SSO", server_->url("/sso").c_str());
  set("AWS_ENDPOINT_URL_SSO_OIDC", server_->url("/oidc").c_str());
  set("AWS_PROFILE", "new");
  make_file(".aws/config",
            "[profile new]\nsso_session = corp\nsso_account_id = 42\nsso_role_name = r\n"
            "[sso-session corp]\nsso_region = eu-west-1\nsso_start_url = https://corp\n");
  server_->post("/__config", R"({"sso":{"token":"fresh","role":"r","account":"42","refresh":"R1"}})");
  const std::string cache = ".aws/sso/cache/" + hex(sha1("corp")) + ".json";
  nlohmann::json signed_in = {{"accessToken", "old"},      {"expiresAt", "2020-01-01T00:00:00Z"},
                              {"clientId", "C"},           {"clientSecret", "CS"},
                              {"refreshToken", "R1"},      {"registrationExpiresAt", "2099-01-01T00:00:00Z"},
                              {"startUrl", "https://corp"}};
  make_file(cache, signed_in.dump());
  EXPECT_EQ(found(), "AK-sso/SK-sso/T-sso");
  const auto written = nlohmann::json::parse(slurp(folder_ / cache));  // for the AWS tools, and for the next hour
  EXPECT_EQ(written["accessToken"], "fresh");
  EXPECT_EQ(written["refreshToken"], "next");
  EXPECT_EQ(written["startUrl"], "https://corp");
  EXPECT_GT(parse_sso_token(written.dump(), 0)->expires_realtime_ns, 0);
  EXPECT_EQ(std::filesystem::status(folder_ / cache).permissions() & std::filesystem::perms::mask,
            std::filesystem::perms(0600));
  server_->post("/__log");
  EXPECT_EQ(found(), "AK-sso/SK-sso/T-sso");
  EXPECT_EQ(server_->log().find("oidc"), std::string::npos);  // good for an hour

  signed_in["refreshToken"] = "ended";
  make_file(cache, signed_in.dump());
  EXPECT_EQ(failure().hint, "run aws sso login --profile new");
  EXPECT_EQ(slurp(folder_ / cache), signed_in.dump());
  server_->fault(R"({"path":"/oidc/.*"})", R"({"status":503,"body":""})");
  EXPECT_EQ(failure().code, Code::io);
  signed_in["registrationExpiresAt"] = "2020-01-01T00:00:00Z";
  make_file(cache, signed_in.dump());
  EXPECT_EQ(failure().hint, "run aws sso login --profile new");  // without asking
}

TEST(AwsJson, IsReadWithCare) {
  EXPECT_TRUE(parse_aws_credentials_json(R"({"AccessKeyId":"a","SecretAccessKey":"b"})"));
  EXPECT_EQ(parse_aws_credentials_json(R"({"AccessKeyId":"a","SecretAccessKey":"b","Expiration":"soon"})")
                ->expires_realtime_ns,
            0);
  for (const char* bad : {"", "[]", "null", "{", R"({"AccessKeyId":1,"SecretAccessKey":"b"})",
                          R"({"Code":"Failed","AccessKeyId":"a","SecretAccessKey":"b"})"}) {
    EXPECT_FALSE(parse_aws_credentials_json(bad)) << bad;
  }
}

TEST(AwsJson, OfAProgramIsReadWithCare) {
  const auto of = [](const std::string& more) {
    return parse_process_credentials(R"({"Version":1,"AccessKeyId":"a","SecretAccessKey":"b")" + more + "}");
  };
  EXPECT_EQ(of("")->expires_realtime_ns, 0);
  EXPECT_EQ(of(R"(,"Expiration":null)")->expires_realtime_ns, 0);
  EXPECT_GT(of(R"(,"Expiration":"2026-11-15T09:30:00+01:00")")->expires_realtime_ns, 0);
  EXPECT_FALSE(of(R"(,"Expiration":"soon")"));  // not "for ever"
  EXPECT_FALSE(of(R"(,"Expiration":17)"));
  for (const char* bad : {"", "[1]", "{}", R"({"Version":"1","AccessKeyId":"a","SecretAccessKey":"b"})",
                          R"({"Version":1,"AccessKeyId":"a"})"})
    EXPECT_FALSE(parse_process_credentials(bad)) << bad;
}

TEST(AwsJson, OfSsoIsReadWithCare) {
  EXPECT_EQ(parse_role_credentials(
                R"({"roleCredentials":{"accessKeyId":"a","secretAccessKey":"b","expiration":99999999999999999}})")
                ->expires_realtime_ns,
            0);
  for (const char* bad : {"", "[]", R"({"roleCredentials":7})", R"({"roleCredentials":{"accessKeyId":"a"}})"})
    EXPECT_FALSE(parse_role_credentials(bad)) << bad;
  for (const char* bad :
       {"", "[]", R"({"accessToken":"a"})", R"({"accessToken":"a b","expiresAt":"2099-01-01T00:00:00Z"})"})
    EXPECT_FALSE(parse_sso_token(bad, 0)) << bad;
}

TEST(AwsJson, OfARenewedTokenIsReadWithCare) {
  EXPECT_NE(renewed_sso_token("{}", R"({"accessToken":"a","expiresIn":10})", 0).find("1970-01-01T00:00:10Z"),
            std::string::npos);
  for (const char* bad : {"", "[]", R"({"accessToken":"a"})", R"({"accessToken":"a b","expiresIn":10})",
                          R"({"accessToken":"a","expiresIn":-1})", R"({"accessToken":"a","expiresIn":99999999999999})"})
    EXPECT_EQ(renewed_sso_token("{}", bad, 0), "") << bad;
  EXPECT_EQ(renewed_sso_token("[]", R"({"accessToken":"a","expiresIn":10})", 0), "");
}

TEST(AwsSection, SurvivesOddFiles) {
  EXPECT_TRUE(parse_aws_section("", "default").empty());
  EXPECT_TRUE(parse_aws_section("a = b\n[default\nx\n=\n", "other").empty());
  EXPECT_EQ(parse_aws_section("[default\nA = b", "default").at("a"), "b");
  EXPECT_EQ(parse_aws_section("[x]\na=1\n[y]\na=2\n[x]\nb=3", "x").size(), 2u);
  EXPECT_EQ(parse_aws_section("; c\n# c\n[x] # c\na=1", "x").at("a"), "1");
}

}  // namespace
}  // namespace tacho
