#include "kube/api/object_cache.h"

#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <mutex>

namespace tacho {
namespace {

// The size of the text, four bytes, and zlib's stream; just the text behind a size of 0 when there is none or zlib
// refuses.
std::string pack(const std::string& text) {
  uLongf size = ::compressBound(text.size());
  std::string packed(sizeof(uint32_t) + size, '\0');
  uint32_t length = static_cast<uint32_t>(text.size());
  if (text.empty() || ::compress2(reinterpret_cast<Bytef*>(packed.data() + sizeof length), &size,
                                  reinterpret_cast<const Bytef*>(text.data()), text.size(), Z_BEST_SPEED) != Z_OK) {
    length = 0;
    packed = std::string(sizeof length, '\0') + text;
    size = text.size();
  }
  std::memcpy(packed.data(), &length, sizeof length);
  packed.resize(sizeof length + size);
  packed.shrink_to_fit();
  return packed;
}

std::string unpack(const std::string& packed) {
  uint32_t length = 0;
  std::memcpy(&length, packed.data(), sizeof length);
  if (length == 0) return packed.substr(sizeof length);
  std::string text(length, '\0');
  uLongf size = length;
  ::uncompress(reinterpret_cast<Bytef*>(text.data()), &size,
               reinterpret_cast<const Bytef*>(packed.data() + sizeof length), packed.size() - sizeof length);
  return text;
}

}  // namespace

CachedObject ObjectCache::peek(const std::string& key) const {
  const std::shared_lock lock(mutex_);
  const auto found = objects_.find(key);
  return found == objects_.end() ? CachedObject{} : found->second;
}

CachedObject ObjectCache::get(const std::string& key) const {
  CachedObject object = peek(key);
  if (packed_ && object.json) object.json = std::make_shared<const std::string>(unpack(*object.json));
  return object;
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
  if (packed_) object.json = std::make_shared<const std::string>(pack(*object.json));
  const std::unique_lock lock(mutex_);
  objects_[key] = std::move(object);
}

bool ObjectCache::replace(const std::string& key, const std::string& version, CachedObject object) {
  if (packed_) object.json = std::make_shared<const std::string>(pack(*object.json));
  const std::unique_lock lock(mutex_);
  const auto found = objects_.find(key);
  if (found == objects_.end() || found->second.uid != object.uid || found->second.resource_version != version)
    return false;
  found->second = std::move(object);
  return true;
}

void ObjectCache::erase(const std::string& key) {
  const std::unique_lock lock(mutex_);
  objects_.erase(key);
}

}  // namespace tacho
