#include "cromwell/sizes.h"

#include <algorithm>
#include <random>

#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "cromwell/small_json.h"
#include "net/http/retry.h"
#include "os/clock.h"
#include "os/environment.h"
#include "os/process.h"

namespace tacho {
namespace {

constexpr int kSizeTries = 6;
constexpr uint64_t kOtherFiles = 64;
constexpr int64_t kForgetUnknownNs = 60 * kNsPerSec;
constexpr const char* kGoogleStorage = "https://storage.googleapis.com";
constexpr const char* kRoot = "/storage/v1";

double chance() {
  static thread_local std::minstd_rand random{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(random);
}

}  // namespace

// One path that is being asked for.
struct SizeLookup::Pending {
  std::string_view path;
  std::optional<int64_t> bytes;
  bool done = false, failed = false, as_user = false, new_token = false, with_token = false;
  int tries = 0;
  uint64_t token_number = 0;
  int64_t not_before_ns = 0;
  Backoff backoff;
};

Result<std::string> gcs_base_url(std::string_view endpoint) {
  std::string text(trim(endpoint));
  if (text.empty()) text = environment("STORAGE_EMULATOR_HOST");
  if (text.empty()) text = kGoogleStorage;
  if (text.find("://") == std::string::npos) text.insert(0, "http://");
  const auto url = parse_url(text);
  if (!url || url->has_user || !url->query.empty())
    return Error{Code::invalid, "this is no address of Cloud Storage", text,
                 "write host:port or http(s)://host[:port]"};
  while (text.ends_with('/')) text.pop_back();
  return text.ends_with(kRoot) ? text : text + kRoot;
}

std::string gcs_object_url(const std::string& base, std::string_view gs_path) {
  constexpr std::string_view kScheme = "gs://";
  gs_path.remove_prefix(std::min(kScheme.size(), gs_path.size()));
  const size_t slash = std::min(gs_path.find('/'), gs_path.size());
  const std::string_view name = slash < gs_path.size() ? gs_path.substr(slash + 1) : std::string_view();
  return base + "/b/" + percent_encode(gs_path.substr(0, slash), false) + "/o/" + percent_encode(name, false);
}

SizeAnswer classify_size(int status, std::string_view body, int64_t& bytes) {
  if (status == 200) {
    // {"size":"1234","generation":"1700000000000000"}
    const auto size = parse_int<int64_t>(small_json_text(body, {"size"}));
    if (!size || *size < 0) return SizeAnswer::again;  // cut off on its way
    bytes = *size;
    return SizeAnswer::known;
  }
  if (status == 401) return SizeAnswer::new_token;
  if (status == 400) {
    const std::string text = lower(body.substr(0, 4096));
    const bool pays = text.find("requester pays") != std::string::npos ||
                      text.find("userproject") != std::string::npos || text.find("user project") != std::string::npos;
    return pays ? SizeAnswer::ask_as_user : SizeAnswer::unknown;
  }
  if (is_temporary_status(status)) return SizeAnswer::again;
  return SizeAnswer::unknown;
}

SizeLookup::SizeLookup(SizeSettings settings) : settings_(std::move(settings)), token_(http_, settings_.auth) {
  // Each has a connection of its own where HTTP/2 is not spoken.
  const uint64_t files = raise_open_files();
  const size_t most = files > kOtherFiles + 1 ? static_cast<size_t>(files - kOtherFiles) : 1;
  settings_.parallel = std::clamp<size_t>(settings_.parallel, 1, std::min<size_t>(most, 1'000));
  // The token goes over TLS or stays in the machine.
  use_token_ = static_cast<bool>(check_url(settings_.base_url));
}
SizeLookup::~SizeLookup() = default;

// Only where there are no credentials at all it is asked without: an object that a stranger may not see would otherwise
// pass for one whose size nobody can know.
Result<std::string> SizeLookup::bearer() {
  const int64_t now_ns = system_clock().monotonic_ns();
  if (!use_token_ || now_ns < without_token_until_ns_) return std::string();
  if (now_ns < token_pause_until_ns_) return *token_failure_;
  auto token = token_.get();
  if (token) return *token;
  if (token.error().code == Code::not_available) {
    without_token_until_ns_ = now_ns + kForgetUnknownNs;
    return std::string();
  }
  // All that wait for it wait together: a token server in trouble is not asked once a file.
  log::warn(token.error());
  token_failure_ = token.error();
  token_pause_until_ns_ = system_clock().monotonic_ns() + settings_.first_wait_ms * kNsPerMs;
  return token.error();
}

const SizeLookup::Entry* SizeLookup::cached(std::string_view path) {
  const auto found = by_path_.find(path);
  if (found == by_path_.end()) return nullptr;
  if (found->second->until_ns != 0 && system_clock().monotonic_ns() > found->second->until_ns) {
    const auto entry = found->second;
    by_path_.erase(found);
    entries_.erase(entry);
    return nullptr;
  }
  entries_.splice(entries_.begin(), entries_, found->second);
  return &*found->second;
}

void SizeLookup::remember(std::string_view path, std::optional<int64_t> bytes) {
  entries_.push_front({std::string(path), bytes, bytes ? 0 : system_clock().monotonic_ns() + kForgetUnknownNs});
  by_path_[entries_.front().path] = entries_.begin();
  if (entries_.size() <= settings_.cache_entries) return;
  by_path_.erase(entries_.back().path);
  entries_.pop_back();
}

bool SizeLookup::start(std::vector<Pending>& pending, size_t which) {
  Pending& one = pending[which];
  const auto token = bearer();
  ++one.tries;
  if (!token) {
    if (token.error().code == Code::io) wait_or_fail(one, settings_.first_wait_ms);
    else one.done = one.failed = true;
    return false;
  }
  HttpRequest request;
  request.url = gcs_object_url(settings_.base_url, one.path) + "?fields=size,generation";
  if (one.as_user) request.url += "&userProject=" + percent_encode(settings_.user_project, false);
  if (!token->empty()) request.headers.emplace_back("Authorization", "Bearer " + *token);
  one.with_token = !token->empty();
  request.body_limit = 64 * 1024;
  one.token_number = token_number_;
  ++requests_;
  multi_.add(which, request);
  return true;
}

void SizeLookup::wait_or_fail(Pending& one, int64_t asked_ms) {
  one.done = one.failed = one.tries >= kSizeTries;
  one.not_before_ns = system_clock().monotonic_ns() + one.backoff.next_ms(chance(), asked_ms) * kNsPerMs;
}

void SizeLookup::settle(Pending& one, const HttpReply& reply) {
  int64_t bytes = 0;
  const int status = reply.failure == HttpFailure::none ? reply.response.status : 0;
  SizeAnswer answer = classify_size(status, reply.response.body, bytes);
  if (answer == SizeAnswer::ask_as_user && (one.as_user || settings_.user_project.empty()))
    answer = SizeAnswer::unknown;
  // Credentials that are refused twice say nothing about the file.
  if (answer == SizeAnswer::new_token && one.new_token && one.with_token) {
    one.done = one.failed = true;
    return;
  }
  if (answer == SizeAnswer::new_token && one.new_token) answer = SizeAnswer::unknown;
  switch (answer) {
    case SizeAnswer::known:
      one.bytes = bytes;
      one.done = true;
      break;
    case SizeAnswer::unknown: one.done = true; break;
    case SizeAnswer::ask_as_user:
      one.as_user = true;
      --one.tries;
      break;
    case SizeAnswer::new_token:
      one.new_token = true;
      --one.tries;
      if (one.token_number == token_number_) {
        token_.refuse();
        ++token_number_;
      }
      break;
    case SizeAnswer::again:
      wait_or_fail(one, parse_retry_after_ms(reply.response.header("retry-after"), system_clock().realtime_ns()));
      break;
  }
}

// All of them, at most settings_.parallel at once; those that must wait leave their place to others.
void SizeLookup::ask(std::vector<Pending>& pending) {
  size_t fresh = 0, in_flight = 0;  // those from `fresh` on were never asked for
  std::vector<size_t> again;        // once more, at their time
  const auto launch = [&](size_t which) {
    if (start(pending, which)) ++in_flight;
    else if (!pending[which].done) again.push_back(which);
  };
  while (fresh < pending.size() || !again.empty() || in_flight > 0) {
    const int64_t now_ns = system_clock().monotonic_ns();
    int64_t wake_ns = now_ns + 60 * kNsPerSec;
    for (size_t i = 0; i < again.size() && in_flight < settings_.parallel;) {
      const size_t which = again[i];
      if (pending[which].not_before_ns > now_ns) {
        wake_ns = std::min(wake_ns, pending[which].not_before_ns);
        ++i;
        continue;
      }
      again[i] = again.back();
      again.pop_back();
      launch(which);
    }
    while (fresh < pending.size() && in_flight < settings_.parallel) launch(fresh++);
    for (const size_t which : again) wake_ns = std::min(wake_ns, pending[which].not_before_ns);
    if (in_flight == 0 && again.empty()) continue;  // all of them are settled
    uint64_t id = 0;
    HttpReply reply;
    if (in_flight == 0) {
      system_clock().wait({}, wake_ns);
    } else if (multi_.next(wake_ns, id, reply)) {
      --in_flight;
      settle(pending[id], reply);
      if (!pending[id].done) again.push_back(id);
    }
  }
}

std::vector<std::optional<int64_t>> SizeLookup::sizes(const std::vector<std::string_view>& paths, SizeCounts& counts) {
  const std::lock_guard lock(mutex_);
  std::vector<Pending> pending;
  std::unordered_map<std::string_view, size_t> asked;  // the same path twice is asked once
  std::vector<std::optional<int64_t>> result(paths.size());
  std::vector<size_t> waiting(paths.size(), SIZE_MAX);
  for (size_t i = 0; i < paths.size(); ++i) {
    if (const Entry* entry = cached(paths[i])) {
      result[i] = entry->bytes;
      if (!entry->bytes) ++counts.unknown;
      continue;
    }
    const auto [place, is_new] = asked.emplace(paths[i], pending.size());
    if (is_new) {
      pending.emplace_back().path = paths[i];
      pending.back().backoff = Backoff(settings_.first_wait_ms, settings_.last_wait_ms);
    }
    waiting[i] = place->second;
  }
  ask(pending);
  for (const Pending& one : pending)
    if (!one.failed) remember(one.path, one.bytes);
  for (size_t i = 0; i < paths.size(); ++i) {
    if (waiting[i] == SIZE_MAX) continue;
    const Pending& one = pending[waiting[i]];
    result[i] = one.bytes;
    if (one.failed) ++counts.failed;
    else if (!one.bytes) ++counts.unknown;
  }
  return result;
}

}  // namespace tacho
