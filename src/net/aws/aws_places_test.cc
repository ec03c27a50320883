// Where credentials are found beside the files of a person: on the machine, in its container, by a web identity; and
// what else a profile brings along.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "net/aws/aws_credentials.h"
#include "net/aws/aws_metadata.h"
#include "net/aws/aws_sso_token.h"
#include "net/aws/aws_sts.h"
#include "net/aws/aws_test_support.h"

namespace tacho {
namespace {

TEST_F(Aws, BringsTheUsualRegion) {
  make_file(".aws/credentials", "[default]\naws_access_key_id = AK1\naws_secret_access_key=SK1\n");
  EXPECT_EQ(find_aws_credentials(http_)->region, "");
  make_file(".aws/config", "[default]\nregion = cn-north-1\n");
  EXPECT_EQ(find_aws_credentials(http_)->region, "cn-north-1");
  set("AWS_DEFAULT_REGION", "us-gov-west-1");
  EXPECT_EQ(find_aws_credentials(http_)->region, "us-gov-west-1");
  set("AWS_REGION", "eu-west-3");
  EXPECT_EQ(find_aws_credentials(http_)->region, "eu-west-3");
}

TEST_F(Aws, BringsTheEndpoint) {
  make_file(".aws/credentials", "[default]\naws_access_key_id = AK1\naws_secret_access_key=SK1\n");
  EXPECT_EQ(find_aws_credentials(http_)->endpoint, "");
  make_file(".aws/config", "[default]\nendpoint_url = https://profile\n");
  EXPECT_EQ(find_aws_credentials(http_)->endpoint, "https://profile");
  set("AWS_ENDPOINT_URL", "https://all");
  EXPECT_EQ(find_aws_credentials(http_)->endpoint, "https://all");
  EXPECT_EQ(sts_url({"r", "", "", "", ""}), server_->url("/sts/"));
  set("AWS_ENDPOINT_URL_STS", nullptr);
  EXPECT_EQ(sts_url({"r", "", "", "", ""}), "https://all");
  set("AWS_ENDPOINT_URL_S3", "https://s3");
  EXPECT_EQ(find_aws_credentials(http_)->endpoint, "https://s3");
  set("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true");
  EXPECT_EQ(find_aws_credentials(http_)->endpoint, "");
}

TEST_F(Aws, ExchangesAWebIdentity) {
  spill(folder_ / "token", "eyJ.a+b/c=\n");
  server_->post("/__config",
                R"({"web_token":"eyJ.a+b/c=","role_arn":"arn:aws:iam::1:role/r","expiration":"2026-11-15T09:30:00Z"})");
  set("AWS_WEB_IDENTITY_TOKEN_FILE", (folder_ / "token").c_str());
  set("AWS_ROLE_ARN", "arn:aws:iam::1:role/r");
  EXPECT_EQ(found(), "AK-sts/SK-sts/T-sts");
  EXPECT_EQ(find_aws_credentials(http_)->expires_realtime_ns, 1'794'735'000'000'000'000);
  EXPECT_EQ(server_->log().find("eyJ"), std::string::npos);  // neither in a path nor in a header
  set("AWS_ROLE_ARN", "arn:aws:iam::1:role/other");
  EXPECT_EQ(failure().code, Code::invalid);
  server_->fault("{}", R"({"status":503,"body":""})");
  EXPECT_EQ(failure().code, Code::io);
  set("AWS_WEB_IDENTITY_TOKEN_FILE", (folder_ / "absent").c_str());
  EXPECT_EQ(failure().code, Code::io);
  set("AWS_WEB_IDENTITY_TOKEN_FILE", (folder_ / "token").c_str());
  set("AWS_ENDPOINT_URL_STS", "http://sts.example.com/");
  EXPECT_EQ(failure().code, Code::invalid);
}

TEST_F(Aws, AsksTheContainersEndpoint) {
  server_->post("/__config", R"({"container_token":"Basic abc"})");
  set("AWS_CONTAINER_CREDENTIALS_FULL_URI", server_->url("/container").c_str());
  EXPECT_EQ(failure().code, Code::io);
  set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Basic abc");
  EXPECT_EQ(found(), "AK-container/SK-container/T-container");
  spill(folder_ / "t", "Basic new\n");
  server_->post("/__config", R"({"container_token":"Basic new"})");
  set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", (folder_ / "t").c_str());
  EXPECT_EQ(found(), "AK-container/SK-container/T-container");
  server_->fault("{}", R"({"status":200,"body":"<html>"})");
  EXPECT_EQ(failure().code, Code::io);
}

TEST_F(Aws, AllowsOnlyTheAddressesThatAreMeant) {
  set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/credentials/x");
  EXPECT_EQ(container_credentials_url().value_or(""), "http://169.254.170.2/v2/credentials/x");
  set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "@evil.com/");
  EXPECT_FALSE(container_credentials_url());
  set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", nullptr);
  for (const char* good : {"https://agent.example.com/x", "http://127.0.0.1:9/x",
                           "http://169.254.170.23/v1/credentials", "http://[fd00:ec2::23]/v1"}) {
    set("AWS_CONTAINER_CREDENTIALS_FULL_URI", good);
    EXPECT_EQ(container_credentials_url().value_or(""), good);
  }
  for (const char* bad : {"http://agent.example.com/x", "http://169.254.169.254/", "ftp://127.0.0.1/"}) {
    set("AWS_CONTAINER_CREDENTIALS_FULL_URI", bad);
    EXPECT_FALSE(container_credentials_url()) << bad;
  }
}

TEST_F(Aws, TakesTheRoleOfTheInstance) {
  server_->post("/__config", R"({"imds_v2":true,"role":"my+role@x"})");
  EXPECT_EQ(found(), "AK-instance/SK-instance/T-instance");
  server_->post("/__config", R"({"imds_v1":true,"role":"r"})");
  EXPECT_EQ(found(), "AK-instance/SK-instance/T-instance");
  server_->post("/__config", R"({"imds_v2":true})");  // no role
  EXPECT_EQ(failure().code, Code::invalid);
  server_->fault("{}", R"({"status":200,"body":"<html>other cloud</html>"})");
  EXPECT_EQ(failure().code, Code::invalid);
  server_->post("/__log");
  for (const auto& [name, value] :
       {std::pair{"AWS_EC2_METADATA_DISABLED", "true"}, {"TACHO_NO_CLOUD", "1"}, {"TACHO_CLOUD_PROBE", "off"}}) {
    const WithVariable off(name, value);
    EXPECT_EQ(failure().code, Code::invalid);
  }
  // --no-cloud, also where a profile leads to the instance.
  make_file(".aws/config", "[profile far]\nrole_arn = r\ncredential_source = Ec2InstanceMetadata\n");
  for (const char* const profile : {"", "far"}) {
    const WithVariable named("AWS_PROFILE", profile);
    EXPECT_EQ(find_aws_credentials(http_, false).error().code, Code::invalid);
  }
  EXPECT_EQ(server_->log(), "[]");
}

TEST_F(Aws, AProfileWithARegionLeavesTheKeysToTheMachine) {
  server_->post("/__config", R"({"imds_v2":true,"role":"r"})");
  make_file(".aws/config",
            "[profile plain]\nregion = eu-west-3\noutput = json\n[profile sso]\nsso_region = eu-west-3\n");
  set("AWS_PROFILE", "plain");
  EXPECT_EQ(found(), "AK-instance/SK-instance/T-instance");
  EXPECT_EQ(find_aws_credentials(http_)->region, "eu-west-3");
  set("AWS_PROFILE", "sso");
  EXPECT_EQ(failure().path, "sso");
}

TEST_F(Aws, AnInstanceThatIsBusyIsAskedAgain) {
  server_->post("/__config", R"({"imds_v2":true,"role":"r"})");
  server_->fault(R"({"path":".*api/token"})", R"({"status":503,"body":""})");
  EXPECT_EQ(failure().code, Code::io);
  server_->faults("[]");
  server_->fault(R"({"path":".*security-credentials/.*"})", R"({"status":429,"body":""})");
  EXPECT_EQ(failure().code, Code::io);
  server_->faults("[]");
  server_->fault(R"({"path":".*security-credentials/r"})",
                 R"({"status":200,"body":"{\"Code\":\"AssumeRoleUnauthorizedAccess\"}"})");
  EXPECT_NE(failure().what.find("AssumeRoleUnauthorizedAccess"), std::string::npos);
}

// A connection that breaks off is not "no role": the upload would be given up for good.
TEST_F(Aws, AnInstanceWhoseAnswersGetLostIsAskedAgain) {
  server_->post("/__config", R"({"imds_v2":true,"role":"r"})");
  const char* const paths[] = {".*api/token", ".*security-credentials/", ".*security-credentials/r"};
  for (const char* const path : paths)
    for (const char* const how : {R"({"reset":"answer"})", R"({"half_close":true})"}) {
      server_->fault(std::string(R"({"path":")") + path + "\"}", how);
      EXPECT_EQ(failure().code, Code::io) << path << how;
      server_->faults("[]");
    }
  server_->fault(R"({"path":".*security-credentials/r"})", R"({"status":404,"body":""})");
  EXPECT_EQ(failure().code, Code::io);
  server_->faults("[]");
  EXPECT_EQ(found(), "AK-instance/SK-instance/T-instance");
}

TEST_F(Aws, NobodyOnThatAddressIsNoRoleExceptOnAmazonsMachines) {
  set("TACHO_IMDS_AWS_URL", "http://127.0.0.1:1");
  make_file("sys/class/dmi/id/sys_vendor", "QEMU\n");
  set("TACHO_SYSFS_ROOT", (folder_ / "sys").c_str());
  EXPECT_EQ(failure().code, Code::invalid);
  make_file("sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
  EXPECT_EQ(failure().code, Code::io);
}

TEST_F(Aws, AnIndentedFileIsReadLikeAnyOther) {
  server_->post("/__config", R"({"imds_v2":true,"role":"r"})");
  make_file(".aws/credentials",
            "[default]\n  aws_access_key_id = AK1\n  # mine\n\n  aws_secret_access_key = SK1\n  s3 =\n    "
            "aws_session_token = no\n"
            "\t[tabs]\n\taws_access_key_id: AK2\n\taws_secret_access_key: S:K2\n");
  EXPECT_EQ(found(), "AK1/SK1/");
  set("AWS_PROFILE", "tabs");
  EXPECT_EQ(found(), "AK2/S:K2/");
  EXPECT_EQ(server_->log(), "[]");
}

// The instance has a role, and it is not the one that was meant.
TEST_F(Aws, AFileThatMakesNoSenseIsNobodyElse) {
  server_->post("/__config", R"({"imds_v2":true,"role":"r"})");
  for (const char* const text :
       {"aws_access_key_id = AK\naws_secret_access_key = SK\n", "[default]\naws_access_key_id AK\n",
        "{\"aws_access_key_id\": \"AK\"}\n", "[default]\n= AK\n"}) {
    make_file(".aws/credentials", text);
    EXPECT_EQ(failure().code, Code::invalid) << text;
    EXPECT_EQ(failure().path, folder_ / ".aws/credentials") << text;
  }
  make_file(".aws/credentials", "[default]\naws_access_key_id =\naws_secret_access_key =\n");
  EXPECT_EQ(failure().path, "default");
  make_file(".aws/credentials", "[default]\nrole_arn = arn:aws:iam::1:role/r\n");
  EXPECT_EQ(failure().path, "default");
  EXPECT_EQ(server_->log(), "[]");
  make_file(".aws/credentials", "\n# nothing here\n[other]\naws_access_key_id = AK\n");
  EXPECT_EQ(found(), "AK-instance/SK-instance/T-instance");
  std::filesystem::remove(folder_ / ".aws/credentials");
  std::filesystem::create_directories(folder_ / ".aws/credentials");  // there, and cannot be read
  EXPECT_EQ(failure().path, folder_ / ".aws/credentials");
}

TEST_F(Aws, AsksStsOfTheRolesOwnWorld) {
  set("AWS_ENDPOINT_URL_STS", nullptr);
  EXPECT_EQ(sts_url({"arn:aws:iam::1:role/r", "", "", "", ""}), "https://sts.amazonaws.com/");
  EXPECT_EQ(sts_url({"arn:aws-cn:iam::1:role/r", "", "", "", ""}), "https://sts.cn-northwest-1.amazonaws.com.cn/");
  EXPECT_EQ(sts_url({"arn:aws-us-gov:iam::1:role/r", "", "", "", ""}), "https://sts.us-gov-west-1.amazonaws.com/");
  EXPECT_EQ(sts_url({"arn:aws:iam::1:role/r", "", "", "", "eu-west-3"}), "https://sts.eu-west-3.amazonaws.com/");
  set("AWS_REGION", "us-isob-east-1");
  EXPECT_EQ(sts_url({"arn:aws:iam::1:role/r", "", "", "", "eu-west-3"}), "https://sts.us-isob-east-1.sc2s.sgov.gov/");
}

}  // namespace
}  // namespace tacho
