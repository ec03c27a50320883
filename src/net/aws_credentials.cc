#include "net/aws_credentials.h"

#include "base/text.h"
#include "net/aws_metadata.h"
#include "net/aws_process.h"
#include "net/aws_profile.h"
#include "net/aws_sso.h"
#include "net/aws_sts.h"
#include "net/environment.h"
#include "os/clock.h"

namespace tacho {
namespace {

constexpr int kLongestChain = 5;  // of profiles that refer to each other

Error nothing_here() { return {Code::not_available, "no AWS credentials here", "", ""}; }

Result<AwsCredentials> from_environment() {
  AwsCredentials credentials;
  credentials.access_key = environment("AWS_ACCESS_KEY_ID");
  credentials.secret_key = environment("AWS_SECRET_ACCESS_KEY");
  credentials.session_token = environment("AWS_SESSION_TOKEN");
  if (credentials.access_key.empty() && credentials.secret_key.empty()) return nothing_here();
  if (credentials.access_key.empty() || credentials.secret_key.empty()) {
    return Error{Code::invalid, "only one half of the AWS key is set",
                 credentials.access_key.empty() ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
                 "set both variables or none"};
  }
  return credentials;
}

// Where the user's own buckets are. In the partitions of China and of governments it cannot be asked for at the public address.
std::string usual_region() {
  std::string region = aws_region_variable();
  if (!region.empty()) return region;
  const Result<AwsProfile> profile = read_aws_profile();
  return profile ? aws_setting(*profile, "region") : "";
}

Result<AwsCredentials> from_web_identity_variables(HttpClient& http) {
  const std::string token_file = environment("AWS_WEB_IDENTITY_TOKEN_FILE"), role = environment("AWS_ROLE_ARN");
  if (token_file.empty() || role.empty()) return nothing_here();
  return assume_role_with_web_identity(http, token_file, {role, environment("AWS_ROLE_SESSION_NAME"), "", ""});
}

Result<AwsCredentials> from_settings(HttpClient& http, const AwsProfile& profile, const std::string& name, int depth);

// The keys with which a profile takes on its role: credential_source = Ec2InstanceMetadata, or source_profile = base.
Result<AwsCredentials> source_of(HttpClient& http, const AwsProfile& profile, const std::string& name, int depth) {
  const std::string source = lower(aws_setting(profile, "credential_source")),
                    other = aws_setting(profile, "source_profile");
  if (source == "environment") return from_environment();
  if (source == "ecscontainer") return container_credentials(http);
  if (source == "ec2instancemetadata") return instance_credentials(http);
  if (other.empty())
    return Error{Code::invalid, "unknown credential_source in this AWS profile", name,
                 "write Environment, EcsContainer or Ec2InstanceMetadata"};
  if (depth >= kLongestChain)
    return Error{Code::invalid, "the AWS profiles refer to each other in a circle", name,
                 "correct source_profile in ~/.aws/config"};
  const Result<AwsProfile> found = read_aws_profile(other);
  if (!found) return found.error();
  // A profile may name itself: its own keys, for its own role.
  AwsProfile base = *found;
  if (other == name) base.erase("role_arn");
  return from_settings(http, base, other, depth + 1);
}

// not_available when the profile says nothing of an identity.
Result<AwsCredentials> from_settings(HttpClient& http, const AwsProfile& profile, const std::string& name, int depth) {
  const AwsRole role{aws_setting(profile, "role_arn"), aws_setting(profile, "role_session_name"),
                     aws_setting(profile, "external_id"), aws_setting(profile, "duration_seconds")};
  const std::string token_file = aws_setting(profile, "web_identity_token_file");
  const bool has_source =
      !aws_setting(profile, "source_profile").empty() || !aws_setting(profile, "credential_source").empty();
  if (!role.arn.empty() && has_source) {
    if (!aws_setting(profile, "mfa_serial").empty())
      return Error{Code::invalid, "this AWS profile asks for a one-time password, which nobody is there to type", name,
                   "export session credentials as variables"};
    const Result<AwsCredentials> own = source_of(http, profile, name, depth);
    if (own) return assume_role(http, *own, role);
    if (own.error().code != Code::not_available) return own;
    return Error{Code::invalid, "there are no AWS keys for the role of this profile", name,
                 "check its source_profile or credential_source"};
  }
  if (!role.arn.empty() && !token_file.empty()) return assume_role_with_web_identity(http, token_file, role);
  if (is_sso_profile(profile)) return sso_credentials(http, profile, name);
  AwsCredentials credentials;
  credentials.access_key = aws_setting(profile, "aws_access_key_id");
  credentials.secret_key = aws_setting(profile, "aws_secret_access_key");
  credentials.session_token = aws_setting(profile, "aws_session_token");
  if (!credentials.access_key.empty() && !credentials.secret_key.empty()) return credentials;
  if (const std::string command = aws_setting(profile, "credential_process"); !command.empty())
    return process_credentials(http, command, name);
  return nothing_here();
}

Result<AwsCredentials> from_profile(HttpClient& http) {
  const Result<AwsProfile> profile = read_aws_profile();
  if (!profile) return profile.error();
  const std::string name = aws_profile_variable();
  Result<AwsCredentials> found = from_settings(http, *profile, name.empty() ? "default" : name, 0);
  // Asked for by name and not usable: say so, rather than go on as somebody else.
  if (!found && found.error().code == Code::not_available && !name.empty()) {
    return Error{Code::invalid, "this AWS profile has neither keys nor anything that gives them", name,
                 "add aws_access_key_id and aws_secret_access_key, role_arn, credential_process or sso_session"};
  }
  return found;
}

}  // namespace

Result<AwsCredentials> find_aws_credentials(HttpClient& http) {
  using Source = Result<AwsCredentials> (*)(HttpClient&);
  constexpr Source kSources[] = {[](HttpClient&) { return from_environment(); }, from_web_identity_variables,
                                 from_profile, container_credentials, instance_credentials};
  for (const Source source : kSources) {
    Result<AwsCredentials> found = source(http);
    if (found) {
      found->received_monotonic_ns = system_clock().monotonic_ns();
      if (found->region.empty()) found->region = usual_region();
      return found;
    }
    if (found.error().code != Code::not_available) return found;
  }
  return Error{Code::invalid, "no AWS credentials were found", "",
               "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give the machine a role"};
}

}  // namespace tacho
