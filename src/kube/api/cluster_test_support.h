// A cluster of a few objects, for tests of the code above it. Not thread-safe while objects are put.
#pragma once
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "kube/api/cluster.h"
#include "kube/api/object.h"
#include "os/file.h"

namespace tacho {

class FakeCluster : public Cluster, public ClusterWriter {
 public:
  static std::string key_of(const ObjectKey& key) {
    return key.api_version + "|" + key.kind + "|" + key.ns + "|" + key.name;
  }
  static ObjectKey key_of(const Json& object) {
    return {text_at(object, {"apiVersion"}), text_at(object, {"kind"}), text_at(object, {"metadata", "namespace"}),
            text_at(object, {"metadata", "name"})};
  }

  void put(const Json& object) {
    Json stored = object;
    stored["metadata"]["resourceVersion"] = std::to_string(++version_);
    objects_[key_of(key_of(object))] = std::make_shared<const std::string>(dump_json(stored));
  }
  void put_text(const std::string& text) { put(Json::parse(text)); }
  void remove(const ObjectKey& key) { objects_.erase(key_of(key)); }
  Json object(const ObjectKey& key) const {
    const auto found = objects_.find(key_of(key));
    return found == objects_.end() ? Json() : Json::parse(*found->second);
  }

  Lookup get(const ObjectKey& key, int64_t) override {
    lookups++;
    if (failing_kinds.count(key.kind) != 0) return {Lookup::State::failed, nullptr, "503 ServiceUnavailable"};
    const auto found = objects_.find(key_of(key));
    if (found == objects_.end()) return {Lookup::State::absent, nullptr, ""};
    return {Lookup::State::found, found->second, ""};
  }
  Lookup get_now(const ObjectKey& key, int64_t deadline_ns) override {
    if (before_live_get) before_live_get();
    return get(key, deadline_ns);
  }
  bool synced() const override { return true; }
  int server_minor() const override { return minor; }
  void on_trial(std::function<void(std::shared_ptr<const std::string>)>) override {}

  Lookup read(const ObjectKey& key) override { return get(key, 0); }
  Written create(const ObjectKey& key, std::string_view json) override {
    if (objects_.count(key_of(key)) != 0) return {Written::State::conflict, "", "409"};
    return write(key, Json::parse(json));
  }
  Written replace(const ObjectKey& key, std::string_view json) override {
    const Json wanted = Json::parse(json);
    if (before_write) std::exchange(before_write, nullptr)();
    if (text_at(object(key), {"metadata", "resourceVersion"}) != text_at(wanted, {"metadata", "resourceVersion"}))
      return {Written::State::conflict, "", "409"};
    return write(key, wanted);
  }
  Written patch(const ObjectKey& key, std::string_view operations) override {
    Json now = object(key);
    if (now.is_null()) return {Written::State::absent, "", "404"};
    patches++;
    try {
      return write(key, now.patch(Json::parse(operations)));
    } catch (const Json::exception& error) { return {Written::State::failed, "", error.what()}; }
  }

  std::set<std::string> failing_kinds;
  std::function<void()> before_write;     // another replica acts first
  std::function<void()> before_live_get;  // what the caches have not seen yet
  int minor = 30, lookups = 0, patches = 0;

 private:
  Written write(const ObjectKey&, const Json& wanted) {
    put(wanted);
    return {Written::State::done, dump_json(wanted), ""};
  }
  std::map<std::string, std::shared_ptr<const std::string>> objects_;
  int version_ = 0;
};

inline Json kube_fixture(const std::string& name) {
  const auto text = read_whole_file(std::string(TACHO_FIXTURES) + "/kube/" + name);
  EXPECT_TRUE(text) << name;
  return text ? Json::parse(*text) : Json();
}

}  // namespace tacho
