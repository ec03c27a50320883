// Credentials of a profile that signs in with AWS IAM Identity Center: in exchange for the token of `aws sso login` the
// portal gives the keys of a role (GetRoleCredentials, at AWS_ENDPOINT_URL_SSO or the portal of sso_region). The token
// is in a header and nowhere else. Not thread-safe.
//   [profile dev]                                  (the older form has sso_start_url and sso_region here)
//   sso_session = corp                             [sso-session corp]
//   sso_account_id = 123456789012                  sso_start_url = https://corp.awsapps.com/start
//   sso_role_name = reader                         sso_region = eu-central-1
#pragma once
#include <string>
#include <string_view>

#include "net/aws/aws_profile.h"
#include "net/aws/s3.h"
#include "net/http/http.h"

namespace tacho {

bool is_sso_profile(const AwsProfile& profile);
// Code::io: try again later; Code::invalid: not signed in, refused, or the profile is not complete.
Result<AwsCredentials> sso_credentials(HttpClient& http, const AwsProfile& profile, const std::string& name);

// {"roleCredentials": {"accessKeyId": "…", "secretAccessKey": "…", "sessionToken": "…", "expiration": 1794735000000}}
Result<AwsCredentials> parse_role_credentials(std::string_view text);

}  // namespace tacho
