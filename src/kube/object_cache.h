// The objects that a watch has seen, as compact JSON text: a tree would take ten times the room. Another version of an object
// is another text; a text is never changed. Thread-safe.
#pragma once
#include <functional>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tacho {

struct CachedObject {
  std::string uid, resource_version;
  std::shared_ptr<const std::string> json;  // empty: not there
};

class ObjectCache {
 public:
  CachedObject get(const std::string& key) const;  // "namespace/name"
  size_t size() const;
  std::vector<std::string> keys() const;
  void put(const std::string& key, CachedObject object);
  void erase(const std::string& key);

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<std::string, CachedObject> objects_;
};

}  // namespace tacho
