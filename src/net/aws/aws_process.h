// Credentials from a program of the user's (credential_process of an AWS profile): run without a shell, as the AWS
// tools do, it prints them as JSON. Its time is limited, and cancelling the HttpClient cuts it short. Keys are never
// logged; what it says on stderr is shown when it fails. Not thread-safe.
//   credential_process = "/opt/my bin/creds" --user helen
//   {"Version": 1, "AccessKeyId": "…", "SecretAccessKey": "…", "SessionToken": "…", "Expiration":
//   "2026-11-15T09:30:00Z"}
#pragma once
#include <string>
#include <string_view>

#include "net/aws/s3.h"
#include "net/http/http.h"

namespace tacho {

// Code::io: it failed, try again later; Code::invalid: it cannot be run, or what it prints is not that.
Result<AwsCredentials> process_credentials(HttpClient& http, const std::string& command, const std::string& profile);

Result<AwsCredentials> parse_process_credentials(std::string_view text);

}  // namespace tacho
