// Sizes of Cloud Storage objects (cromwell-bigquery.md §3.7): many look-ups at once over kept connections, at most
// `parallel` of them, each path once; answers are kept in a cache. Every path gets an answer, whatever the service
// does. Thread-safe: it serves one caller at a time, so that the limit holds for the whole process.
#pragma once
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

namespace tacho {

// "localhost:4443" → "http://localhost:4443/storage/v1"; empty → STORAGE_EMULATOR_HOST, then Google's own.
Result<std::string> gcs_base_url(std::string_view endpoint);
// {base}/b/{bucket}/o/{name}: of gs://bucket/name.
std::string gcs_object_url(const std::string& base, std::string_view gs_path);

struct SizeSettings {
  std::string base_url;      // gcs_base_url
  std::string user_project;  // --gcs-user-project, for buckets whose requester pays
  size_t parallel = 32;      // GCS_QUERY_THROTTLE
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
  struct Pending;
  using Entries = std::list<Entry>;

  const Entry* cached(std::string_view path);
  void remember(std::string_view path, std::optional<int64_t> bytes);
  void ask(std::vector<Pending>& pending);
  bool start(std::vector<Pending>& pending, size_t which);  // false: nothing was sent; it is settled or waits
  void settle(Pending& one, const HttpReply& reply);
  static void wait_or_fail(Pending& one, int64_t asked_ms);
  // What a request carries; an Error: nothing can be asked (io: for now).
  Result<std::string> bearer();

  SizeSettings settings_;
  std::mutex mutex_;
  HttpClient http_;  // for tokens
  GoogleToken token_;
  HttpMulti multi_{HttpMulti::Kind::remote};
  bool use_token_ = false;
  uint64_t token_number_ = 0;           // if the same token is refused many times, it is renewed once
  int64_t without_token_until_ns_ = 0;  // there are no credentials; they are not looked for with every request
  std::optional<Error> token_failure_;  // the last one, which holds for a moment
  int64_t token_pause_until_ns_ = 0;
  Entries entries_;  // the last used first
  std::unordered_map<std::string_view, Entries::iterator> by_path_;
  uint64_t requests_ = 0;
};

}  // namespace tacho
