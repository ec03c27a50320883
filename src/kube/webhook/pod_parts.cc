#include "kube/webhook/pod_parts.h"

#include <nlohmann/json.hpp>

namespace tacho {

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

const Json* mount_at(const Json& container, const std::string& path) {
  const Json* mounts = find(container, {"volumeMounts"});
  if (mounts == nullptr || !mounts->is_array()) return nullptr;
  for (const Json& mount : *mounts) {
    if (without_slash(text_at(mount, {"mountPath"})) == path) return &mount;
  }
  return nullptr;
}

const Json* entry_named(const Json* list, const std::string& name) {
  if (list == nullptr || !list->is_array()) return nullptr;
  for (const Json& one : *list) {
    if (text_at(one, {"name"}) == name) return &one;
  }
  return nullptr;
}

}  // namespace tacho
