// The files that the AWS tools share: ~/.aws/credentials and ~/.aws/config, or where AWS_SHARED_CREDENTIALS_FILE and
// AWS_CONFIG_FILE say, with the profile of AWS_PROFILE. Thread-safe.
//   [default]
//   aws_access_key_id = AKIA…
//   [profile build]            (in config; only [build] in credentials)
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tacho {

using AwsProfile = std::map<std::string, std::string, std::less<>>;  // keys in lower case

// The settings of one section. Lines that are indented deeper than the setting before them belong to it (s3 = …) and
// are not needed here; a section that is indented as a whole is like any other.
AwsProfile parse_aws_section(std::string_view text, std::string_view section);

// A setting by its key in lower case; empty when it is not there.
std::string aws_setting(const AwsProfile& profile, std::string_view key);
// AWS_PROFILE, else AWS_DEFAULT_PROFILE; empty when neither is set.
std::string aws_profile_variable();
// A section of the config file, by all that stands between its brackets.
AwsProfile read_aws_config_section(std::string_view section);

// Where a service of the profile's world is, when it is not Amazon's: `variable` (AWS_ENDPOINT_URL_S3 …),
// AWS_ENDPOINT_URL, or endpoint_url of the profile; nothing with AWS_IGNORE_CONFIGURED_ENDPOINT_URLS.
std::string aws_endpoint(const char* variable);
// An Error when one of the two files exists but cannot be read or understood: the identity it names is then unknown,
// and no other one must be used instead.
Status check_aws_files();
// The one of the two files that exists, or is named by its variable, but cannot be read; empty when there is none.
std::string unreadable_aws_file();

// Both files together, credentials first. Empty when there is none of that name; an Error when AWS_PROFILE names one
// that does not exist, because no identity but the requested one may be used.
Result<AwsProfile> read_aws_profile();
Result<AwsProfile> read_aws_profile(const std::string& asked);  // by its name; empty is the default one

}  // namespace tacho
