// Cromwell's REST interface, as far as metadata goes (cromwell-bigquery.md §3.3): fetches one workflow's document into
// a temporary file, still compressed if it came so. Not thread-safe.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "cromwell/metadata_file.h"
#include "net/google/google_token.h"
#include "net/http/http.h"

namespace tacho {

struct CromwellSettings {
  std::string base_url;      // may have a path prefix
  bool use_token = true;     // --cromwell-auth=none clears it
  std::string access_token;  // CROMWELL_ACCESS_TOKEN
  GoogleAuthSettings auth;
  std::function<void(int64_t bytes)> on_bytes;  // of the document that have come; may be empty
  int tries = 8;
  int64_t first_wait_ms = 1'000, last_wait_ms = 32'000;
};

// The address without its trailing slashes; an Error when it is none.
Result<std::string> cromwell_base_url(std::string_view text);
// Cromwell's ids are UUIDs, but it may know others: only what cannot be an id is refused.
inline constexpr size_t kLongestWorkflowId = 100;
bool may_be_workflow_id(std::string_view text);
// 8-4-4-4-12 hexadecimal digits.
bool is_workflow_id(std::string_view text);

struct Fetched {
  std::unique_ptr<MetadataFile> file;  // null: not fetched
  bool later = false;                  // it may work another time
  std::string why;
};

class CromwellClient {
 public:
  explicit CromwellClient(CromwellSettings settings);
  Fetched fetch(const std::string& id);

 private:
  enum class Form { include, exclude, include_flat, exclude_flat };
  struct Attempt {
    int status = 0;    // 0: no answer
    std::string body;  // of an answer that is no document
    std::string why;
    int64_t retry_after_ms = 0;
    bool fatal = false;  // no answer, and none to be expected
  };
  std::string url(const std::string& id, Form form) const;
  Attempt attempt(const std::string& url, int fd);
  Result<std::string> bearer();

  CromwellSettings settings_;
  HttpClient http_;
  GoogleToken token_;
};

}  // namespace tacho
