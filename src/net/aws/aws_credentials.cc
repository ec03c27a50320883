#include "net/aws/aws_credentials.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "net/aws/aws_metadata.h"
#include "net/aws/aws_process.h"
#include "net/aws/aws_profile.h"
#include "net/aws/aws_sso.h"
#include "net/aws/aws_sts.h"
#include "os/clock.h"
#include "os/environment.h"

namespace tacho {
namespace {

constexpr int kLongestChain = 5;  // of profiles that refer to each other

struct Search {
  HttpClient& http;
  bool may_ask_instance;
};

Error nothing_here() { return {Code::not_available, "no AWS credentials here", "", ""}; }

Result<AwsCredentials> from_environment(const Search&) {
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

// Where the user's own buckets are. In the partitions of China and of governments it cannot be asked for at the public
// address.
std::string usual_region() {
  std::string region = aws_region_variable();
  if (!region.empty()) return region;
  const Result<AwsProfile> profile = read_aws_profile();
  return profile ? aws_setting(*profile, "region") : "";
}

Result<AwsCredentials> from_web_identity_variables(const Search& search) {
  const std::string token_file = environment("AWS_WEB_IDENTITY_TOKEN_FILE"), role = environment("AWS_ROLE_ARN");
  if (token_file.empty() || role.empty()) return nothing_here();
  return assume_role_with_web_identity(search.http, token_file,
                                       {role, environment("AWS_ROLE_SESSION_NAME"), "", "", usual_region()});
}

Result<AwsCredentials> from_container(const Search& search) { return container_credentials(search.http); }

Result<AwsCredentials> from_instance(const Search& search) {
  if (!search.may_ask_instance) return nothing_here();
  return instance_credentials(search.http);
}

Result<AwsCredentials> from_settings(const Search& search, const AwsProfile& profile, const std::string& name,
                                     int depth);

// The keys with which a profile takes on its role: credential_source = Ec2InstanceMetadata, or source_profile = base.
Result<AwsCredentials> source_of(const Search& search, const AwsProfile& profile, const std::string& name, int depth) {
  const std::string source = lower(aws_setting(profile, "credential_source")),
                    other = aws_setting(profile, "source_profile");
  if (source == "environment") return from_environment(search);
  if (source == "ecscontainer") return from_container(search);
  if (source == "ec2instancemetadata") return from_instance(search);
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
  return from_settings(search, base, other, depth + 1);
}

// not_available when the profile says nothing of an identity.
Result<AwsCredentials> from_settings(const Search& search, const AwsProfile& profile, const std::string& name,
                                     int depth) {
  const AwsRole role{aws_setting(profile, "role_arn"), aws_setting(profile, "role_session_name"),
                     aws_setting(profile, "external_id"), aws_setting(profile, "duration_seconds"), usual_region()};
  const std::string token_file = aws_setting(profile, "web_identity_token_file");
  const bool has_source =
      !aws_setting(profile, "source_profile").empty() || !aws_setting(profile, "credential_source").empty();
  if (!role.arn.empty() && has_source) {
    if (!aws_setting(profile, "mfa_serial").empty())
      return Error{Code::invalid, "this AWS profile asks for a one-time password, which nobody is there to type", name,
                   "export session credentials as variables"};
    const Result<AwsCredentials> own = source_of(search, profile, name, depth);
    if (own) return assume_role(search.http, *own, role);
    if (own.error().code != Code::not_available) return own;
    return Error{Code::invalid, "there are no AWS keys for the role of this profile", name,
                 "check its source_profile or credential_source"};
  }
  if (!role.arn.empty() && !token_file.empty()) return assume_role_with_web_identity(search.http, token_file, role);
  if (is_sso_profile(profile)) return sso_credentials(search.http, profile, name);
  AwsCredentials credentials;
  credentials.access_key = aws_setting(profile, "aws_access_key_id");
  credentials.secret_key = aws_setting(profile, "aws_secret_access_key");
  credentials.session_token = aws_setting(profile, "aws_session_token");
  if (credentials.access_key.empty() != credentials.secret_key.empty()) {
    return Error{
        Code::invalid, "only one half of the AWS key is in this AWS profile", name,
        std::string("add ") + (credentials.access_key.empty() ? "aws_access_key_id" : "aws_secret_access_key")};
  }
  if (!credentials.access_key.empty()) return credentials;
  if (const std::string command = aws_setting(profile, "credential_process"); !command.empty())
    return process_credentials(search.http, command, name);
  return nothing_here();
}

bool speaks_of_identity(const AwsProfile& profile) {
  constexpr std::string_view kBegins[] = {"aws_", "role_", "source_profile", "credential_", "sso_", "web_identity_"};
  return std::any_of(profile.begin(), profile.end(), [&](const auto& setting) {
    return std::any_of(std::begin(kBegins), std::end(kBegins),
                       [&](std::string_view begin) { return setting.first.starts_with(begin); });
  });
}

Result<AwsCredentials> from_profile(const Search& search) {
  if (const Status understood = check_aws_files(); !understood) return understood.error();
  const Result<AwsProfile> profile = read_aws_profile();
  if (!profile) return profile.error();
  const std::string name = aws_profile_variable();
  Result<AwsCredentials> found = from_settings(search, *profile, name.empty() ? "default" : name, 0);
  // Not usable: say so, rather than go on as somebody else. One that has a region only leaves the rest to the machine.
  if (!found && found.error().code == Code::not_available && speaks_of_identity(*profile)) {
    return Error{Code::invalid, "this AWS profile has neither keys nor anything that gives them",
                 name.empty() ? "default" : name,
                 "add aws_access_key_id and aws_secret_access_key, role_arn, credential_process or sso_session"};
  }
  return found;
}

}  // namespace

Result<AwsCredentials> find_aws_credentials(HttpClient& http, bool may_ask_instance) {
  const Search search{http, may_ask_instance};
  for (const auto source :
       {from_environment, from_web_identity_variables, from_profile, from_container, from_instance}) {
    Result<AwsCredentials> found = source(search);
    if (found) {
      found->received_monotonic_ns = system_clock().monotonic_ns();
      if (found->region.empty()) found->region = usual_region();
      found->endpoint = aws_endpoint("AWS_ENDPOINT_URL_S3");
      return found;
    }
    if (found.error().code != Code::not_available) return found;
  }
  const std::string unread = unreadable_aws_file();
  const std::string none = "no AWS credentials were found";
  const char* const machine =
      may_ask_instance ? "give the machine a role" : "let the machine's role be asked for, without --no-cloud";
  return Error{Code::invalid, unread.empty() ? none : none + ", and this file cannot be read", unread,
               std::string("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or ") + machine};
}

}  // namespace tacho
