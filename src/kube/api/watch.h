// One collection of the API server, mirrored into a cache: listed once in pages, then watched for ever. A stream that
// ends is resumed at the last version; only "410 Gone" (as a status or as an event) makes a new list, which is compared
// with the cache so that deletions during the gap are reported too. An answer that cannot be understood makes a new
// list as well, with growing pauses, and so does a version that the server will not hear of; no answer ends a watch for
// good. Nothing is polled. run() belongs to one thread;
// the rest is thread-safe.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/backoff.h"
#include "kube/api/api_client.h"
#include "kube/api/object.h"
#include "kube/api/object_cache.h"

namespace tacho {

struct WatchOptions {
  std::string path;         // of the collection: /apis/kubeflow.org/v1beta1/trials
  std::string resource;     // for metrics and messages: "trials"
  std::string api_version;  // of the objects: the items of a list of built-in kinds do not say it; may be empty
  std::string kind;
  std::string selector;     // fieldSelector and labelSelector, percent-encoded: "&fieldSelector=…"; may be empty
  int64_t timeout_s = 300;  // asked of the server, ±20 %
  int64_t stall_s = 60;     // how much longer a stream may take before it is given up
  int page = 500;
  bool packed = false;  // small rather than quick to read
  // Whether an object is kept and reported; every one when empty.
  std::function<bool(const Json& object)> wanted;
  // Removes fields that nobody needs; metadata.managedFields goes in any case.
  std::function<void(Json& object)> trim;
  // Called on the watch's thread, or on that of put_reply, after the cache has changed. `gone` is the last known text
  // of a deleted object.
  std::function<void(const std::string& key, const CachedObject& now)> on_put;
  std::function<void(const std::string& key, const CachedObject& gone)> on_delete;
};

class Watch {
 public:
  Watch(std::shared_ptr<ApiServer> server, int stop_fd, WatchOptions options);
  void run();  // until stop_fd is readable
  const ObjectCache& cache() const { return cache_; }
  // The reply to a write of our own, made from the version `from`. It counts only if the watch has reported nothing
  // since: what others wrote after us may have come through the watch before our reply did, and would not come again.
  void put_reply(const std::string& key, const std::string& from, std::string_view json);
  bool synced() const { return synced_; }
  // The server refuses the list (403, 404, 405), so the cache may never be filled; it is tried again all the same.
  bool refused() const { return refused_; }
  uint64_t restarts() const { return restarts_; }
  uint64_t relists() const { return relists_; }
  const std::string& resource() const { return options_.resource; }

 private:
  enum class End { normal, gone, failed, refused, stopped };
  End list();
  End stream();
  static End end_of(const ApiAnswer& refusal);
  bool take_line(std::string_view line, End& end);
  void take_item(std::string_view item, std::unordered_set<std::string>& seen);
  bool fits(const Json& object) const;
  void tell(const std::function<void(const std::string&, const CachedObject&)>& whom, const std::string& key,
            const CachedObject& object);
  void put(const Json& object, std::unordered_set<std::string>* seen);
  void remove(const std::string& key);
  void remove(const std::string& key, const std::string& uid);  // only that one
  bool back_off(int64_t at_least_ms);
  void complain(const char* what, const ApiAnswer& answer);

  WatchOptions options_;
  ApiClient client_;
  ObjectCache cache_;
  int page_;             // fewer objects a page where they are large
  std::string version_;  // empty: to be listed
  std::string line_;     // the beginning of an event whose end has not come yet
  Backoff backoff_{100, 30'000};
  int64_t retry_after_ms_ = 0;
  int64_t list_ns_ = 0;  // what the last list took
  bool told_ = false;    // the stream has brought something that was understood
  int refusals_ = 0;     // of streams from this version, in a row
  std::string last_complaint_;
  std::atomic<bool> synced_{false}, refused_{false};
  std::atomic<uint64_t> restarts_{0}, relists_{0};
};

}  // namespace tacho
