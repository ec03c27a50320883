// Credentials that the machine itself hands out: to a container (ECS, EKS Pod Identity) and to an EC2 instance. Plain
// HTTP to link-local addresses, never through a proxy. Not thread-safe.
#pragma once
#include <string>
#include <string_view>

#include "net/aws/s3.h"
#include "net/http/http.h"

namespace tacho {

// {"Code":"Success","AccessKeyId":"…","SecretAccessKey":"…","Token":"…","Expiration":"2026-11-15T09:30:00Z"}
Result<AwsCredentials> parse_aws_credentials_json(std::string_view text);

// Where a container gets them: AWS_CONTAINER_CREDENTIALS_RELATIVE_URI, then …_FULL_URI. Empty when neither is set; an
// Error for plain http to anything but loopback and the two link-local addresses of ECS and EKS.
Result<std::string> container_credentials_url();

// not_available when nothing says that we are in such a container.
Result<AwsCredentials> container_credentials(HttpClient& http);
// IMDSv2, then v1. not_available when there is no such service or no role, or when it may not be asked
// (AWS_EC2_METADATA_DISABLED, TACHO_NO_CLOUD, TACHO_CLOUD_PROBE=off).
Result<AwsCredentials> instance_credentials(HttpClient& http);

}  // namespace tacho
