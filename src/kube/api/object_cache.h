// The objects that a watch has seen, as JSON text: a tree would take ten times the room. Packed (zlib) a text takes a
// third, and a get() makes a new one each time; otherwise the same version is the same text. Thread-safe.
#pragma once
#include <memory>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace tacho {

struct CachedObject {
  std::string uid, resource_version;
  std::shared_ptr<const std::string> json;  // empty: not there
};

class ObjectCache {
 public:
  explicit ObjectCache(bool packed = false) : packed_(packed) {}
  CachedObject get(const std::string& key) const;  // "namespace/name"
  size_t size() const;
  // uid and resourceVersion only: `json` says whether the object is there, but not what is in it.
  CachedObject peek(const std::string& key) const;
  std::vector<std::string> keys() const;
  void put(const std::string& key, CachedObject object);
  // Only if the cached object has this uid and this version; otherwise false.
  bool replace(const std::string& key, const std::string& version, CachedObject object);
  void erase(const std::string& key);

 private:
  const bool packed_;
  mutable std::shared_mutex mutex_;
  std::unordered_map<std::string, CachedObject> objects_;
};

}  // namespace tacho
