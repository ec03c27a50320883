#include "net/google/gce_metadata.h"

#include <algorithm>

#include "base/backoff.h"
#include "base/text.h"
#include "base/units.h"
#include "net/http/retry.h"
#include "os/file.h"
#include "os/metadata_off.h"

namespace tacho {
namespace {

constexpr const char* kHost = "169.254.169.254";
constexpr int64_t kConnectMs = 2'000, kResponseMs = 2'000, kFirstWaitMs = 200, kLastWaitMs = 30'000;
constexpr int64_t kDeadFor_ns = 300 * kNsPerSec, kTiredFor_ns = 10 * kNsPerSec, kBusyFor_ns = kNsPerSec / 2,
                  kSlice_ns = 50 * kNsPerMs;

std::string host_of(std::string host) {
  for (const char* name : {"GCE_METADATA_HOST", "GCE_METADATA_IP"})
    if (host.empty()) host = environment(name);
  return host.empty() ? kHost : host;
}

// Where the firmware says that this is Google's machine, a server that does not answer is only late.
bool is_google_machine() {
  return read_first_line(Roots::from_environment().sys + "/class/dmi/id/product_name").starts_with("Google");
}

Error not_there(const std::string& base) { return {Code::not_available, "there is no metadata server", base, ""}; }

}  // namespace

GceMetadata::GceMetadata(HttpClient& http, std::string host, Clock& clock)
    : http_(http),
      base_("http://" + host_of(std::move(host)) + "/computeMetadata/v1/"),
      clock_(clock),
      forbidden_(metadata_is_off()) {}

Result<HttpResponse> GceMetadata::attempt(const std::string& path, int64_t response_ms, bool& connected) {
  HttpRequest request;
  request.url = base_ + path;
  request.headers = {{"Metadata-Flavor", "Google"}};
  request.use_proxy = false;
  request.connect_ms = kConnectMs;
  request.response_ms = response_ms;
  request.total_ms = kConnectMs + response_ms;
  request.body_limit = 1u << 20;
  auto answer = http_.send(request);
  connected = answer || http_.sent();
  return answer;
}

Result<std::string> GceMetadata::get(const std::string& path, int repeats) {
  if (forbidden_ || is_dead()) return not_there(base_);
  Error last{Code::io, "the metadata server does not answer", base_ + path, "it is tried again"};
  if (clock_.monotonic_ns() < tired_until_ns_) return last;
  DoublingPause wait_ms(kFirstWaitMs, kLastWaitMs);
  bool heard = false;
  const auto hurried = [&] { return cancelled_ && cancelled_(); };
  for (int tries = 0; tries <= repeats; ++tries) {
    const int64_t until_ns = tries == 0 ? 0 : clock_.monotonic_ns() + wait_ms.next() * kNsPerMs;
    while (clock_.monotonic_ns() < until_ns && !hurried())
      clock_.wait({}, std::min(until_ns, clock_.monotonic_ns() + kSlice_ns));
    if (tries > 0 && hurried()) break;
    bool connected = false;
    const auto answer = attempt(path, kResponseMs, connected);
    if (!answer && answer.error().code == Code::gone) return answer.error();
    if (!answer && !connected && !answered_ && !is_google_machine()) {
      dead_until_ns_ = clock_.monotonic_ns() + kDeadFor_ns;
      return not_there(base_);
    }
    if (answer && answer->header("metadata-flavor") == "Google") answered_ = true;
    heard = heard || static_cast<bool>(answer);
    if (!answer || is_temporary_status(answer->status)) continue;
    if (answer->header("metadata-flavor") != "Google") {
      // Somebody else answers on this address: another cloud, a captive portal.
      if (!answered_) dead_until_ns_ = clock_.monotonic_ns() + kDeadFor_ns;
      return not_there(base_);
    }
    if (answer->status == 200) return std::string(trim(answer->body));
    return Error{Code::not_available,
                 "the metadata server has no such value (status " + std::to_string(answer->status) + ")", base_ + path,
                 ""};
  }
  // Takes connections and says nothing: no metadata server either.
  if (!answered_ && !heard && !is_google_machine()) {
    dead_until_ns_ = clock_.monotonic_ns() + kDeadFor_ns;
    return not_there(base_);
  }
  // One that hangs is not asked the same way for every value; one that says "later" has a moment.
  if (!hurried()) tired_until_ns_ = clock_.monotonic_ns() + (heard ? kBusyFor_ns : kTiredFor_ns);
  return last;
}

Result<GceChange> GceMetadata::wait_for_change(const std::string& path, const std::string& last_etag, int timeout_s) {
  if (forbidden_) return not_there(base_);
  std::string question = path + "?wait_for_change=true&timeout_sec=" + std::to_string(timeout_s);
  if (!last_etag.empty()) question += "&last_etag=" + percent_encode(last_etag, false);
  bool connected = false;
  const auto answer = attempt(question, (timeout_s + 10) * 1'000, connected);
  if (!answer) return answer.error();
  // Whoever stands in between and says "later" says nothing about the server.
  if (is_temporary_status(answer->status))
    return Error{Code::io, "the metadata server answered with status " + std::to_string(answer->status), base_ + path,
                 "it is tried again"};
  if (answer->header("metadata-flavor") != "Google") return not_there(base_);
  if (answer->status == 404)
    return Error{Code::not_available, "the metadata server has no such value", base_ + path, ""};
  if (answer->status != 200)
    return Error{Code::io, "the metadata server answered with status " + std::to_string(answer->status), base_ + path,
                 "it is tried again"};
  return GceChange{std::string(trim(answer->body)), std::string(answer->header("etag"))};
}

}  // namespace tacho
