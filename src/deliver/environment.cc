#include "deliver/environment.h"

#include <cstdlib>

#include "base/text.h"

namespace tacho {

std::string service_url() {
  const char* value = std::getenv("SENTINEL_API_URL");
  std::string url(trim(value != nullptr ? value : ""));
  if (url.empty()) url = "https://api.sentinel.sparecores.net";
  if (url.back() == '/') url.pop_back();
  return url;
}

void complete(Delivering& shared) {
  shared.bucket_credentials = []() -> Result<AwsCredentials> {
    const auto variable = [](const char* name) {
      const char* value = std::getenv(name);
      return std::string(trim(value != nullptr ? value : ""));
    };
    AwsCredentials credentials;
    credentials.access_key = variable("AWS_ACCESS_KEY_ID");
    credentials.secret_key = variable("AWS_SECRET_ACCESS_KEY");
    credentials.session_token = variable("AWS_SESSION_TOKEN");
    if (credentials.access_key.empty() || credentials.secret_key.empty())
      return Error{Code::not_available, "there are no AWS credentials", "", "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"};
    return credentials;
  };
}

}  // namespace tacho
