// What the service's answers mean (sentinel.md §2.2, §3): credentials in all known spellings, and how a request is
// changed after a validation error. Pure, thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "deliver/records.h"
#include "net/aws/s3.h"

namespace tacho {

// Of an "upload_credentials" object; nothing when keys are missing. An expiry that is missing or makes no sense is
// taken as 15 minutes from now: never for ever, never fatal.
std::optional<AwsCredentials> parse_credentials(const Json& object, int64_t server_now_ns, int64_t monotonic_ns);

// Changes a body so that the named fields no longer offend. The memory says what was tried before, so that no change
// is made twice.
struct Relaxed {
  std::set<std::string> tried;
  std::vector<std::string> dropped;  // fields to tell the user of
  std::vector<std::string> renamed;  // fields that go under their other name, or in another form, now
};
// False when the answer is no validation error or names something that cannot be left out.
bool relax(Json& body, std::string_view answer, Relaxed& memory);

}  // namespace tacho
