// A reader of OCI registries (distribution API v2): index → manifest of this platform → configuration, with bearer
// tokens or basic authentication. Never used on the admission path. A reader belongs to one thread.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/webhook/image_commands.h"
#include "kube/webhook/image_reference.h"
#include "net/http/http.h"

namespace tacho {

struct RegistryLogin {
  std::string user, password;
};
// {"auths":{"ghcr.io":{"auth":"dXNlcjpwdw=="}}}: registry name → login. What cannot be read is left out.
std::map<std::string, RegistryLogin> parse_docker_config(std::string_view json);
// The login for this image, also by the older names of Docker Hub; nullptr when there is none.
const RegistryLogin* find_login(const std::map<std::string, RegistryLogin>& logins, const ImageReference& image);

// `Bearer realm="https://auth.example/token",service="x",scope="repository:a/b:pull"`: scheme in lower case and its
// values.
struct Challenge {
  std::string scheme;
  std::map<std::string, std::string> values;
};
Challenge parse_challenge(std::string_view header);

class Registry {
 public:
  // `plain`: host:port of registries that are asked over http.
  Registry(std::vector<std::string> plain, std::function<bool()> cancelled);
  // Within kLimitMs, whatever the registry does.
  Result<ImageCommand> read(const ImageReference& image, const RegistryLogin* login);
  // The last read() failed because nobody answered, or not in time.
  bool silent() const { return silent_; }
  static constexpr int64_t kLimitMs = 30'000;

 private:
  Result<std::string> get(const ImageReference& image, const std::string& path, const std::string& accept,
                          const std::string& digest);
  Result<HttpResponse> send(const std::string& url, const std::string& accept, const std::string& authorization);
  Status log_in(const Challenge& challenge, const ImageReference& image);

  const std::vector<std::string> plain_;
  HttpClient http_;
  const RegistryLogin* login_ = nullptr;
  std::string authorization_;  // for the image at hand
  int64_t deadline_ns_ = 0;
  bool silent_ = false;
};

}  // namespace tacho
