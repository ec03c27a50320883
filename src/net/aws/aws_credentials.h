// AWS credentials for -o s3://bucket/prefix, from the places that every AWS tool looks at, in their order:
//   1. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
//   2. web identity: AWS_WEB_IDENTITY_TOKEN_FILE with AWS_ROLE_ARN, exchanged at STS (AWS_ENDPOINT_URL_STS)
//   3. the shared files with AWS_PROFILE, which may name a web identity too, or a role with the keys for it
//      (source_profile, credential_source), a sign-in by SSO, or a program that prints them (credential_process)
//   4. container credentials (ECS, EKS)
//   5. the role of the EC2 instance
// With them comes the usual region: AWS_REGION, AWS_DEFAULT_REGION, or the profile's; and the endpoint, where it is not
// Amazon's. If a configured source fails, that is an error: no other identity is used instead. Ask again before they
// expire. Not thread-safe.
#pragma once
#include "net/aws/s3.h"
#include "net/http/http.h"

namespace tacho {

// may_ask_instance is false with --no-cloud: no metadata service is asked then, whatever it could give.
// Code::io: try again later; Code::invalid: the set-up is wrong or there are none, and the hint says what to do.
Result<AwsCredentials> find_aws_credentials(HttpClient& http, bool may_ask_instance = true);

}  // namespace tacho
