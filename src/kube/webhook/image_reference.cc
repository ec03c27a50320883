#include "kube/webhook/image_reference.h"

namespace tacho {
namespace {

bool all_of(std::string_view text, std::string_view allowed) {
  return text.find_first_not_of(allowed) == std::string_view::npos;
}

constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz0123456789";
constexpr std::string_view kHex = "0123456789abcdef";

bool good_repository(std::string_view text) {
  if (text.empty() || text.front() == '/' || text.back() == '/' || text.find("//") != text.npos ||
      text.find("..") != text.npos)
    return false;
  return all_of(text, "abcdefghijklmnopqrstuvwxyz0123456789._-/");
}

bool good_tag(std::string_view text) {
  return !text.empty() && text.size() <= 128 &&
         all_of(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
}

bool good_registry(std::string_view text) {
  return !text.empty() && all_of(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]");
}

}  // namespace

std::optional<ImageReference> parse_image(std::string_view text) {
  ImageReference out;
  if (text.size() > 1024) return std::nullopt;
  if (const size_t at = text.find('@'); at != text.npos) {
    out.digest = text.substr(at + 1);
    const size_t colon = out.digest.find(':');
    if (colon == std::string::npos || colon == 0 || !all_of(out.digest.substr(0, colon), kLower) ||
        out.digest.size() < colon + 33 || !all_of(out.digest.substr(colon + 1), kHex))
      return std::nullopt;
    text = text.substr(0, at);
  }
  std::string_view path = text;
  if (const size_t slash = text.find('/'); slash != text.npos) {
    const std::string_view first = text.substr(0, slash);
    // A host has a dot, a port, or is localhost; otherwise it is a part of the name on Docker Hub.
    if (first.find('.') != first.npos || first.find(':') != first.npos || first == "localhost") {
      out.registry = first;
      path = text.substr(slash + 1);
    }
  }
  if (const size_t colon = path.rfind(':'); colon != path.npos) {
    out.tag = path.substr(colon + 1);
    path = path.substr(0, colon);
    if (!good_tag(out.tag)) return std::nullopt;
  }
  out.repository = path;
  if (out.registry.empty() || out.registry == "docker.io" || out.registry == "index.docker.io") {
    out.registry = "registry-1.docker.io";
    out.auth_name = "docker.io";
    if (out.repository.find('/') == std::string::npos) out.repository = "library/" + out.repository;
  } else {
    out.auth_name = out.registry;
  }
  if (!good_repository(out.repository) || !good_registry(out.registry)) return std::nullopt;
  if (out.tag.empty() && out.digest.empty()) out.tag = "latest";
  return out;
}

bool pulls_always(const ImageReference& image, std::string_view pull_policy) {
  if (!pull_policy.empty()) return pull_policy == "Always";
  return image.digest.empty() && image.tag == "latest";
}

}  // namespace tacho
