// Names of container images, as a pod writes them. Pure; thread-safe.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace tacho {

struct ImageReference {
  std::string registry;    // host[:port], "registry-1.docker.io" for docker.io
  std::string repository;  // "library/python"
  std::string tag;         // "latest" when neither tag nor digest is given
  std::string digest;      // "sha256:…"; wins over the tag
  std::string auth_name;   // under which name credentials are kept: "docker.io", "ghcr.io"
  const std::string& version() const { return digest.empty() ? tag : digest; }
};
// "python:3.11", "ghcr.io/a/b@sha256:…", "localhost:5000/x"; nothing when it is no image name.
std::optional<ImageReference> parse_image(std::string_view text);

// How the kubelet would pull: `Always` is also the default for the tag latest.
bool pulls_always(const ImageReference& image, std::string_view pull_policy);

}  // namespace tacho
