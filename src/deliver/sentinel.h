// The service: start, refresh, finish and heartbeat of a run (sentinel.md §2). One call is one or, after validation
// errors, a few requests; the caller waits and repeats. Not thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "deliver/answers.h"
#include "deliver/csv_source.h"
#include "net/http/http.h"
#include "net/http/retry.h"

namespace tacho {

struct CallResult {
  ErrorClass what = ErrorClass::temporary;
  int status = 0;  // 0: no answer
  int64_t retry_after_ms = 0;
  bool refused = false;              // cannot be asked at all: bad URL, refused redirect, no certificates
  std::string text;                  // for a person: why it failed
  std::vector<std::string> dropped;  // fields that the service did not want
  std::vector<std::string> renamed;  // fields that it wanted in another form
};

struct Registration {
  std::string run_id, prefix;
  std::optional<AwsCredentials> credentials;
};

// What the service says it did with the rows.
struct Processing {
  std::optional<int64_t> rows, files;
  std::string error;
  Json answer;  // "processing" or "stats", as it came; null when there was none
};

class Sentinel {
 public:
  Sentinel(HttpClient& http, std::string base_url, std::string token);

  CallResult start(const Json& body, Registration& registration);
  CallResult refresh(const std::string& run_id, std::optional<AwsCredentials>& credentials);
  // `csv`: rows that go with it, null where they are objects.
  CallResult finish(const std::string& run_id, Json body, CsvSource* csv, Processing& processing);
  // Fire and forget; false when the service knows no such call.
  bool heartbeat(const std::string& path, const std::string& run_id);

  int64_t server_now_ns() const;                     // by the Date of its answers
  const std::string& date() const { return date_; }  // of the last answer, as it came; empty without one
  // No request may take longer than this from now on; 0: the usual limits.
  void set_limit_ms(int64_t limit_ms) { limit_ms_ = limit_ms; }

 private:
  CallResult call(const std::string& path, Json* body, CsvSource* csv, bool slow, Json& answer);
  HttpRequest request(const std::string& path, bool slow) const;
  void unreadable(CallResult& result, const std::string& path, const char* why) const;  // a 2xx that says nothing

  HttpClient& http_;
  std::string base_url_, token_, date_;
  bool compress_ = false;  // TACHO_SENTINEL_GZIP
  int64_t offset_ns_ = 0, limit_ms_ = 0;
};

}  // namespace tacho
