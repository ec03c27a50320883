// Google's metadata server (cromwell-bigquery.md §1.2): values of the machine, a token, and the wait for a change.
// Plain HTTP, never through a proxy; an answer counts only with the header Metadata-Flavor: Google. Not thread-safe.
//
// Environment: GCE_METADATA_HOST, GCE_METADATA_IP; TACHO_NO_CLOUD and TACHO_CLOUD_PROBE=off forbid it.
#pragma once
#include <functional>
#include <string>

#include "net/http/http.h"
#include "os/clock.h"

namespace tacho {

struct GceChange {
  std::string value, etag;
};

class GceMetadata {
 public:
  // `host` is host[:port] from a flag; empty: the environment, then 169.254.169.254.
  explicit GceMetadata(HttpClient& http, std::string host = {}, Clock& clock = system_clock());

  // The text behind /computeMetadata/v1/, trimmed. 429, 5xx and broken connections are repeated so often within (from
  // 100 ms, doubling). not_available: not defined (404), or there is no such server (tested once); io: try again later.
  Result<std::string> get(const std::string& path, int repeats = 5);
  // The long-poll form: comes back when the value differs from that of `last_etag` (empty: at once), or after
  // timeout_s. One attempt.
  Result<GceChange> wait_for_change(const std::string& path, const std::string& last_etag, int timeout_s);

  // Whether the server did not answer when first asked. It is then left alone for five minutes.
  bool is_dead() const { return dead_until_ns_ > clock_.monotonic_ns(); }
  // Called before every repeat and while waiting for it; true: there is no time for a repeat.
  void on_cancel(std::function<bool()> cancelled) { cancelled_ = std::move(cancelled); }

 private:
  Result<HttpResponse> attempt(const std::string& path, int64_t response_ms, bool& connected);

  HttpClient& http_;
  std::string base_;
  Clock& clock_;
  std::function<bool()> cancelled_;
  int64_t dead_until_ns_ = 0, tired_until_ns_ = 0;
  bool forbidden_ = false, answered_ = false;
};

}  // namespace tacho
