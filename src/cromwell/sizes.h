// Sizes of Cloud Storage objects (cromwell-bigquery.md §3.7): many look-ups at once over kept connections, at most
// `parallel` of them in the whole process, each path once; answers are kept in a cache. Every path gets an answer,
// whatever the service does. Thread-safe: callers share the limit, the cache and what is being asked for, and none of
// them waits for a bucket that hangs another one.
#pragma once
#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "net/google/google_token.h"
#include "net/http/http_multi.h"
#include "os/thread.h"

namespace tacho {

// "localhost:4443" → "http://localhost:4443/storage/v1"; empty → STORAGE_EMULATOR_HOST, then Google's own.
Result<std::string> gcs_base_url(std::string_view endpoint);
// {base}/b/{bucket}/o/{name}: of gs://bucket/name.
std::string gcs_object_url(const std::string& base, std::string_view gs_path);

struct SizeSettings {
  std::string base_url;      // gcs_base_url
  std::string user_project;  // --gcs-user-project, for buckets whose requester pays
  size_t parallel = 32;      // GCS_QUERY_THROTTLE
  size_t callers = 1;        // at once: each has its share of it
  size_t cache_entries = 50'000;
  int64_t first_wait_ms = 1'000, last_wait_ms = 32'000;
  GoogleAuthSettings auth;
};

// What an answer means; a pure function.
enum class SizeAnswer { known, unknown, ask_as_user, new_token, again };
SizeAnswer classify_size(int status, std::string_view body, int64_t& bytes);

struct SizeCounts {
  uint64_t unknown = 0;  // deleted, forbidden, no object: NULL for good
  uint64_t failed = 0;   // six tries without an answer, or credentials that do not work: NULL for now
};

// The token that all look-ups carry. Thread-safe.
class SizeToken {
 public:
  explicit SizeToken(const SizeSettings& settings);
  // What a request carries, empty where there are no credentials at all; `number` tells it from later ones. An Error:
  // nothing can be asked (io: for now).
  Result<std::string> get(uint64_t& number);
  // If the same token is refused many times, it is renewed once.
  void refuse(uint64_t number);

 private:
  const SizeSettings& settings_;
  std::mutex mutex_;
  HttpClient http_;
  GoogleToken token_;
  bool use_token_;
  uint64_t number_ = 0;
  int64_t without_until_ns_ = 0;  // there are no credentials; they are not looked for with every request
  std::optional<Error> failure_;  // the last one, which holds for a moment
  int64_t pause_until_ns_ = 0;
};

class SizeLookup {
 public:
  explicit SizeLookup(SizeSettings settings);
  ~SizeLookup();
  // Sizes in the order of the paths; nothing where it is not known. Adds to `counts` for every path that has none.
  std::vector<std::optional<int64_t>> sizes(const std::vector<std::string_view>& paths, SizeCounts& counts);
  uint64_t requests() const { return requests_; }

 private:
  struct Entry {
    std::string path;
    std::optional<int64_t> bytes;
    int64_t until_ns = 0;  // an object that is not there may come
  };
  struct Question;  // of one path
  class Round;      // of one caller
  using Questions = std::vector<std::shared_ptr<Question>>;
  using Entries = std::list<Entry>;

  const Entry* cached(std::string_view path);
  void remember(std::string_view path, std::optional<int64_t> bytes);
  // `own`: those of `wanted` that nobody asks for yet.
  void take_on(const std::vector<std::string_view>& paths, std::vector<std::optional<int64_t>>& known,
               Questions& wanted, Questions& own, SizeCounts& counts);
  void settle(const Questions& asked, std::unique_ptr<HttpMulti> connections);
  std::unique_ptr<HttpMulti> take_connections();

  SizeSettings settings_;
  SizeToken token_;
  std::atomic<uint64_t> requests_ = 0;
  WaitLock lock_;  // guards all below; waited for, where others ask for the same
  std::unordered_map<std::string_view, std::shared_ptr<Question>> open_;
  std::vector<std::unique_ptr<HttpMulti>> connections_;  // of callers that are gone
  size_t rounds_ = 0;                                    // of callers that ask
  Entries entries_;                                      // the last used first
  std::unordered_map<std::string_view, Entries::iterator> by_path_;
};

}  // namespace tacho
