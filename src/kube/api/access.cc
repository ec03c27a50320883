#include "kube/api/access.h"

#include <openssl/evp.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/log.h"
#include "base/path.h"
#include "base/text.h"
#include "base/units.h"
#include "os/clock.h"
#include "os/environment.h"
#include "os/file.h"

namespace tacho {
namespace {

constexpr int64_t kReadAgainNs = 60 * kNsPerSec;

Result<std::string> decode_base64(std::string_view text, const char* key) {
  std::string packed;
  for (const char c : text) {
    if (c != '\n' && c != '\r' && c != ' ') packed += c;
  }
  std::string bytes(packed.size() / 4 * 3 + 3, '\0');
  const int size =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                      reinterpret_cast<const unsigned char*>(packed.data()), static_cast<int>(packed.size()));
  if (size < 0 || packed.empty())
    return Error{Code::invalid, "the kubeconfig holds a value that is no base64", key, "make the file anew"};
  size_t length = static_cast<size_t>(size);
  for (size_t at = packed.size(); at > 0 && packed[at - 1] == '='; --at) --length;
  bytes.resize(length);
  return bytes;
}

// "certificate-authority-data: LS0t…" or "certificate-authority: ca.crt"; empty when neither is there.
Result<std::string> pem_of(const YAML::Node& node, const std::string& name, const std::string& folder) {
  if (const YAML::Node data = node[name + "-data"]; data && data.IsScalar())
    return decode_base64(data.as<std::string>(), name.c_str());
  const YAML::Node file = node[name];
  if (!file || !file.IsScalar()) return std::string();
  const std::string path = file.as<std::string>();
  return read_whole_file(path.starts_with('/') ? path : folder + "/" + path, 1u << 20);
}

struct ConfigFile {
  YAML::Node root;
  std::string folder;  // relative file names count from here
};

// {clusters: [{name: a, cluster: {…}}]} with "clusters", "a", "cluster", and the folder of its file. As kubectl reads
// several files: the first one that has the name counts, with all that it says and nothing of the others.
ConfigFile named(const std::vector<ConfigFile>& files, const char* list, const std::string& name, const char* inner) {
  for (const ConfigFile& file : files) {
    const YAML::Node entries = file.root[list];
    if (!entries || !entries.IsSequence()) continue;
    for (const YAML::Node& entry : entries) {
      if (entry.IsMap() && entry["name"] && entry["name"].as<std::string>("") == name)
        return {entry[inner], file.folder};
    }
  }
  return {YAML::Node(YAML::NodeType::Undefined), ""};
}

std::string scalar(const YAML::Node& node, const char* key) {
  if (!node || !node.IsMap()) return {};
  const YAML::Node value = node[key];
  return value && value.IsScalar() ? value.as<std::string>() : std::string();
}

Error bad_config(const std::string& what, const std::string& hint) {
  return {Code::invalid, "the kubeconfig cannot be used: " + what, "", hint};
}

Result<ApiAccess> in_cluster() {
  const std::string folder = environment_or("SERVICE_ACCOUNT_DIR", kServiceAccountDir);
  std::string host = environment_or("KUBERNETES_SERVICE_HOST"), port = environment_or("KUBERNETES_SERVICE_PORT", "443");
  if (host.find(':') != std::string::npos) host = "[" + host + "]";
  ApiAccess access;
  access.server = "https://" + host + ":" + port;
  Result<std::string> token = read_whole_file(folder + "/token", 1u << 20);
  if (!token)
    return Error{token.error().code, "the service account's token cannot be read", folder + "/token",
                 "set automountServiceAccountToken: true"};
  access.token = std::string(trim(*token));
  Result<std::string> ca = read_whole_file(folder + "/ca.crt", 4u << 20);
  if (!ca)
    return Error{ca.error().code, "the cluster's CA cannot be read", folder + "/ca.crt",
                 "check the pod's service account volume"};
  access.tls.ca_pem = std::move(*ca);
  access.ns = read_first_line(folder + "/namespace");
  return access;
}

// "tls-server-name: kubernetes.default": the name that the server's certificate has to bear.
bool is_server_name(const std::string& name) {
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == '_' || c == ':';
  });
}

Status read_user(const ConfigFile& file, ApiAccess& access) {
  const YAML::Node& user = file.root;
  if (user["exec"] || user["auth-provider"])
    return bad_config("its user needs a program for credentials", "use a token or a client certificate");
  Result<std::string> cert = pem_of(user, "client-certificate", file.folder);
  Result<std::string> key = pem_of(user, "client-key", file.folder);
  if (!cert) return cert.error();
  if (!key) return key.error();
  access.tls.cert_pem = std::move(*cert);
  access.tls.key_pem = std::move(*key);
  access.token = scalar(user, "token");
  if (const std::string path = scalar(user, "tokenFile"); !path.empty()) {
    Result<std::string> token = read_whole_file(path.starts_with('/') ? path : file.folder + "/" + path, 1u << 20);
    if (!token) return token.error();
    access.token = std::string(trim(*token));
  }
  return ok();
}

Result<ApiAccess> parse_trees(const std::vector<ConfigFile>& files) {
  std::string current;
  for (const ConfigFile& file : files) {
    if (current.empty()) current = scalar(file.root, "current-context");
  }
  const YAML::Node context = named(files, "contexts", current, "context").root;
  if (!context || !context.IsMap())
    return bad_config("current-context \"" + current + "\" is not among its contexts",
                      "kubectl config use-context NAME");
  const ConfigFile cluster = named(files, "clusters", scalar(context, "cluster"), "cluster");
  if (!cluster.root || !cluster.root.IsMap())
    return bad_config("its cluster is missing", "check the context's cluster");
  ApiAccess access;
  access.server = scalar(cluster.root, "server");
  while (access.server.ends_with('/')) access.server.pop_back();
  if (access.server.empty()) return bad_config("the cluster has no server", "set clusters[].cluster.server");
  if (const Status good = check_url(access.server); !good) return good.error();
  if (scalar(cluster.root, "insecure-skip-tls-verify") == "true")
    return bad_config("insecure-skip-tls-verify is set",
                      "tacho always verifies the server: give certificate-authority-data instead");
  access.tls.server_name = scalar(cluster.root, "tls-server-name");
  if (!is_server_name(access.tls.server_name))
    return bad_config("tls-server-name \"" + access.tls.server_name + "\" is no name of a server",
                      "give the name that is in the server's certificate");
  access.ns = scalar(context, "namespace");
  Result<std::string> ca = pem_of(cluster.root, "certificate-authority", cluster.folder);
  if (!ca) return ca.error();
  access.tls.ca_pem = std::move(*ca);
  const ConfigFile user = named(files, "users", scalar(context, "user"), "user");
  if (!user.root || !user.root.IsMap()) return access;
  if (const Status good = read_user(user, access); !good) return good.error();
  return access;
}

Status add_config(const std::string& text, const std::string& folder, std::vector<ConfigFile>& files) {
  const YAML::Node root = YAML::Load(text);
  if (!root.IsMap()) return bad_config("it is no mapping", "check the file");
  files.push_back({root, folder});
  return ok();
}

Error bad_yaml(const YAML::Exception& failure) {
  return bad_config(failure.msg + " in line " + std::to_string(failure.mark.line + 1), "check the file");
}

Error of_file(const Error& error, const std::string& path) {
  return {error.code, error.what, error.path.empty() ? path : error.path, error.hint};
}

// "a/config:b/config": one that is not there is left out, as kubectl does, unless none is.
Result<ApiAccess> load_files(const std::string& list, bool all_there) {
  std::vector<ConfigFile> files;
  std::optional<Error> missing;
  for (size_t at = 0; at <= list.size();) {
    const size_t colon = all_there ? list.size() : std::min(list.find(':', at), list.size());
    const std::string path = list.substr(at, colon - at);
    at = colon + 1;
    if (path.empty()) continue;
    const Result<std::string> text = read_whole_file(path, 4u << 20);
    if (!text && text.error().code == Code::not_available && !all_there) {
      if (!missing) missing = text.error();
      continue;
    }
    if (!text) return text.error();
    try {
      const Status good = add_config(*text, parent_folder(path), files);
      if (!good) return of_file(good.error(), path);
    } catch (const YAML::Exception& failure) { return of_file(bad_yaml(failure), path); }
  }
  if (files.empty() && missing) return *missing;
  try {
    Result<ApiAccess> access = parse_trees(files);
    if (!access) return of_file(access.error(), list);
    return access;
  } catch (const YAML::Exception& failure) { return of_file(bad_yaml(failure), list); }
}

}  // namespace

Result<ApiAccess> parse_kubeconfig(const std::string& text, const std::string& folder) {
  try {
    std::vector<ConfigFile> files;
    if (const Status good = add_config(text, folder, files); !good) return good.error();
    return parse_trees(files);
  } catch (const YAML::Exception& failure) { return bad_yaml(failure); }
}

Result<ApiAccess> load_access(const std::string& kubeconfig) {
  if (!kubeconfig.empty()) return load_files(kubeconfig, true);
  if (!environment_or("KUBERNETES_SERVICE_HOST").empty()) return in_cluster();
  const std::string list = environment_or("KUBECONFIG");
  if (list.find_first_not_of(':') == std::string::npos) {
    return Error{Code::invalid, "there is no way to the Kubernetes API", "",
                 "run in a pod with a service account, or name a file with --kubeconfig or KUBECONFIG"};
  }
  return load_files(list, false);
}

AccessSource::AccessSource(std::string kubeconfig, ApiAccess access)
    : kubeconfig_(std::move(kubeconfig)),
      access_(std::make_shared<const ApiAccess>(std::move(access))),
      read_ns_(system_clock().monotonic_ns()) {}

Result<std::shared_ptr<AccessSource>> AccessSource::open(const std::string& kubeconfig) {
  Result<ApiAccess> access = load_access(kubeconfig);
  if (!access) return access.error();
  return std::shared_ptr<AccessSource>(new AccessSource(kubeconfig, std::move(*access)));
}

void AccessSource::read_again(int64_t now_ns) {
  read_ns_ = now_ns;
  Result<ApiAccess> access = load_access(kubeconfig_);
  if (access) access_ = std::make_shared<const ApiAccess>(std::move(*access));
  else
    log::warn("credentials for the Kubernetes API could not be read again, the old ones stay: " +
              access.error().message());
}

std::shared_ptr<const ApiAccess> AccessSource::current() {
  const std::lock_guard lock(mutex_);
  if (const int64_t now_ns = system_clock().monotonic_ns(); now_ns - read_ns_ >= kReadAgainNs) read_again(now_ns);
  return access_;
}

void AccessSource::refresh() {
  const std::lock_guard lock(mutex_);
  if (const int64_t now_ns = system_clock().monotonic_ns(); now_ns - read_ns_ >= kNsPerSec) read_again(now_ns);
}

}  // namespace tacho
