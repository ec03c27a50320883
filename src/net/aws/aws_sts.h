// STS: gives other credentials for a proof of identity, which is a web identity or keys (AssumeRoleWithWebIdentity,
// AssumeRole). Asked at AWS_ENDPOINT_URL_STS or AWS_ENDPOINT_URL, else at the address of AWS_REGION or of the profile's
// region, else at that of the role's partition. Not thread-safe.
#pragma once
#include <string>

#include "net/aws/s3.h"
#include "net/http/http.h"

namespace tacho {

// What is asked for: the settings of a profile, or the variables of the same names.
struct AwsRole {
  std::string arn, session_name, external_id, duration_seconds, region;  // all but the first may be empty
};

// AWS_REGION, else AWS_DEFAULT_REGION; empty when neither is set.
std::string aws_region_variable();

// Where STS is asked.
std::string sts_url(const AwsRole& role);

// Code::io: try again later; Code::invalid: refused.
Result<AwsCredentials> assume_role_with_web_identity(HttpClient& http, const std::string& token_file,
                                                     const AwsRole& role);
Result<AwsCredentials> assume_role(HttpClient& http, const AwsCredentials& own, const AwsRole& role);

}  // namespace tacho
