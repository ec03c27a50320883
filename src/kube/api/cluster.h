// What the webhook asks of the cluster. Watch caches answer, with a live Get only on a miss; in a test, a table of
// objects answers. Objects are JSON text, so that fields newer than tacho survive and nobody needs a parser to pass
// them on. All functions are thread-safe and never throw.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tacho {

struct ObjectKey {
  std::string api_version;  // "v1", "batch/v1", "kubeflow.org/v1beta1"
  std::string kind;         // "Trial"; the resource name is found by discovery
  std::string ns;           // empty for objects without a namespace
  std::string name;
};

struct Lookup {
  enum class State {
    found,
    absent,  // the cluster says that there is no such object (404), or no such kind
    failed,  // nobody could say: time-out, 429, 5xx, 403; `why` tells a person
  };
  State state = State::failed;
  std::shared_ptr<const std::string>
      json;  // found: the object, never changed afterwards; another version is another pointer
  std::string why;
};

class Cluster {
 public:
  virtual ~Cluster() = default;

  // From the caches (Trials, Suggestions, Experiments, job kinds, Namespaces, ConfigMaps of the core namespace); on a
  // miss one live Get of at most 500 ms, retried after temporary errors, and never beyond `deadline_ns`
  // (CLOCK_MONOTONIC).
  virtual Lookup get(const ObjectKey& key, int64_t deadline_ns) = 0;
  // The live Get at once, when the caches' object is not the one that was meant: they may be behind.
  virtual Lookup get_now(const ObjectKey& key, int64_t deadline_ns) = 0;
  // Every cache has been filled once.
  virtual bool synced() const = 0;
  // Kubernetes' minor version, 29 for v1.29; 0 when it is not known.
  virtual int server_minor() const = 0;
  // Called with each Trial that appears or changes, on a thread of the watch: be short. Set before the watches start.
  virtual void on_trial(std::function<void(std::shared_ptr<const std::string> json)> seen) = 0;
};

struct Written {
  enum class State { done, conflict, absent, failed };  // conflict: 409, somebody else was first
  State state = State::failed;
  std::string json;  // done: the object as stored
  std::string why;
};

// Writes, for certificates only; straight to the API server.
class ClusterWriter {
 public:
  virtual ~ClusterWriter() = default;
  virtual Lookup read(const ObjectKey& key) = 0;  // past all caches
  virtual Written create(const ObjectKey& key, std::string_view json) = 0;
  virtual Written replace(const ObjectKey& key, std::string_view json) = 0;      // with the resourceVersion in the text
  virtual Written patch(const ObjectKey& key, std::string_view json_patch) = 0;  // RFC 6902
};

}  // namespace tacho
