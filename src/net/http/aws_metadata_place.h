// Where the environment says that Amazon's metadata service is: AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE, as Amazon's own
// tools read it. For those who ask it for credentials and those who ask it what machine this is.
#pragma once
#include <string_view>

#include "base/text.h"
#include "os/environment.h"

namespace tacho {

inline constexpr std::string_view kAwsMetadata = "http://169.254.169.254", kAwsMetadataIpv6 = "http://[fd00:ec2::254]";
inline constexpr const char* kAwsMetadataVariable = "AWS_EC2_METADATA_SERVICE_ENDPOINT";

inline bool aws_metadata_by_ipv6() { return lower(environment("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE")) == "ipv6"; }

}  // namespace tacho
