// What the tests of Amazon's credentials share. Not thread-safe.
#pragma once
#include <gtest/gtest.h>

#include <deque>
#include <filesystem>
#include <string>

#include "net/aws/aws_credentials.h"
#include "support/double.h"
#include "support/temp_dir.h"

namespace tacho {

// An environment in which nothing is configured and nothing but loopback is asked.
class Aws : public testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = new DoubleServer("aws_double.py"); }
  static void TearDownTestSuite() {
    delete server_;
    server_ = nullptr;
  }
  Aws() {
    for (const char* name : {"AWS_ACCESS_KEY_ID",
                             "AWS_SECRET_ACCESS_KEY",
                             "AWS_SESSION_TOKEN",
                             "AWS_PROFILE",
                             "AWS_DEFAULT_PROFILE",
                             "AWS_CONFIG_FILE",
                             "AWS_SHARED_CREDENTIALS_FILE",
                             "AWS_WEB_IDENTITY_TOKEN_FILE",
                             "AWS_ROLE_ARN",
                             "AWS_ROLE_SESSION_NAME",
                             "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
                             "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                             "AWS_CONTAINER_AUTHORIZATION_TOKEN",
                             "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
                             "AWS_EC2_METADATA_DISABLED",
                             "TACHO_NO_CLOUD",
                             "TACHO_CLOUD_PROBE",
                             "TACHO_IMDS_URL",
                             "AWS_REGION",
                             "AWS_DEFAULT_REGION",
                             "AWS_ENDPOINT_URL",
                             "AWS_ENDPOINT_URL_S3",
                             "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
                             "AWS_ENDPOINT_URL_SSO",
                             "AWS_ENDPOINT_URL_SSO_OIDC"}) {
      set(name, nullptr);
    }
    set("HOME", folder_.path().c_str());
    set("TACHO_IMDS_AWS_URL", server_->url().c_str());
    set("AWS_ENDPOINT_URL_STS", server_->url("/sts/").c_str());
    server_->faults("[]");
    server_->post("/__config", "{}");
    server_->post("/__log");
  }
  void set(const char* name, const char* value) { variables_.emplace_front(name, value); }

  void make_file(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder_ / name).parent_path());
    spill(folder_ / name, text);
  }

  std::string found() {
    const Result<AwsCredentials> credentials = find_aws_credentials(http_);
    return credentials ? credentials->access_key + "/" + credentials->secret_key + "/" + credentials->session_token
                       : "";
  }
  Error failure() {
    const Result<AwsCredentials> credentials = find_aws_credentials(http_);
    return credentials ? Error{Code::gone, "found some", "", ""} : credentials.error();
  }

  inline static DoubleServer* server_ = nullptr;
  TempDir folder_;
  std::deque<WithVariable> variables_;  // the newest in front, so that the oldest goes last and restores what was
  HttpClient http_;
};

}  // namespace tacho
