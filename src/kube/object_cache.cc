#include "kube/object_cache.h"

#include <mutex>

namespace tacho {

CachedObject ObjectCache::get(const std::string& key) const {
  const std::shared_lock lock(mutex_);
  const auto found = objects_.find(key);
  return found == objects_.end() ? CachedObject{} : found->second;
}

size_t ObjectCache::size() const {
  const std::shared_lock lock(mutex_);
  return objects_.size();
}

std::vector<std::string> ObjectCache::keys() const {
  const std::shared_lock lock(mutex_);
  std::vector<std::string> keys;
  keys.reserve(objects_.size());
  for (const auto& [key, object] : objects_) keys.push_back(key);
  return keys;
}

void ObjectCache::put(const std::string& key, CachedObject object) {
  const std::unique_lock lock(mutex_);
  objects_[key] = std::move(object);
}

void ObjectCache::erase(const std::string& key) {
  const std::unique_lock lock(mutex_);
  objects_.erase(key);
}

}  // namespace tacho
