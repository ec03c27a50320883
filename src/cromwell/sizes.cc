#include "cromwell/sizes.h"

#include <algorithm>

#include "base/backoff.h"
#include "base/chance.h"
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

}  // namespace

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

SizeToken::SizeToken(const SizeSettings& settings)
    : settings_(settings),
      token_(http_, settings.auth),
      // The token goes over TLS or stays in the machine.
      use_token_(static_cast<bool>(check_url(settings.base_url))) {}

// Only where there are no credentials at all it is asked without: an object that a stranger may not see would otherwise
// pass for one whose size nobody can know.
Result<std::string> SizeToken::get(uint64_t& number) {
  const std::lock_guard lock(mutex_);
  number = number_;
  const int64_t now_ns = system_clock().monotonic_ns();
  if (!use_token_ || now_ns < without_until_ns_) return std::string();
  if (now_ns < pause_until_ns_) return *failure_;
  auto token = token_.get();
  if (token) return *token;
  if (token.error().code == Code::not_available) {
    without_until_ns_ = now_ns + kForgetUnknownNs;
    return std::string();
  }
  // All that wait for it wait together: a token server in trouble is not asked once a file.
  log::warn(token.error());
  failure_ = token.error();
  pause_until_ns_ = system_clock().monotonic_ns() + settings_.first_wait_ms * kNsPerMs;
  return token.error();
}

void SizeToken::refuse(uint64_t number) {
  const std::lock_guard lock(mutex_);
  if (number != number_) return;
  token_.refuse();
  ++number_;
}

// One path that is being asked for. Whoever asks works on it; the others look at it once it is settled.
struct SizeLookup::Question {
  std::string_view path;
  std::optional<int64_t> bytes;
  bool settled = false;  // guarded by lock_
  bool done = false, failed = false, as_user = false, new_token = false, with_token = false;
  int tries = 0;
  uint64_t token_number = 0;
  int64_t not_before_ns = 0;
  Backoff backoff;
};

// All questions of one caller, at most `parallel` at once; those that must wait leave their place to others.
class SizeLookup::Round {
 public:
  Round(const SizeSettings& settings, SizeToken& token, HttpMulti& multi, const Questions& questions)
      : settings_(settings),
        parallel_(std::max<size_t>(1, settings.parallel / std::max<size_t>(1, settings.callers))),
        token_(token),
        multi_(multi),
        questions_(questions) {}
  void ask();
  uint64_t requests() const { return requests_; }

 private:
  void launch(size_t which);
  bool start(size_t which);  // false: nothing was sent; it is settled or waits
  void take(Question& one, const HttpReply& reply);
  static void wait_or_fail(Question& one, int64_t asked_ms);

  const SizeSettings& settings_;
  size_t parallel_;
  SizeToken& token_;
  HttpMulti& multi_;
  const Questions& questions_;
  size_t in_flight_ = 0;
  std::vector<size_t> again_;  // once more, at their time
  uint64_t requests_ = 0;
};

void SizeLookup::Round::wait_or_fail(Question& one, int64_t asked_ms) {
  one.done = one.failed = one.tries >= kSizeTries;
  one.not_before_ns = system_clock().monotonic_ns() + one.backoff.next_ms(chance(), asked_ms) * kNsPerMs;
}

bool SizeLookup::Round::start(size_t which) {
  Question& one = *questions_[which];
  const auto token = token_.get(one.token_number);
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
  ++requests_;
  multi_.add(which, request);
  return true;
}

void SizeLookup::Round::launch(size_t which) {
  if (start(which)) ++in_flight_;
  else if (!questions_[which]->done) again_.push_back(which);
}

void SizeLookup::Round::take(Question& one, const HttpReply& reply) {
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
      token_.refuse(one.token_number);
      break;
    case SizeAnswer::again:
      wait_or_fail(one, parse_retry_after_ms(reply.response.header("retry-after"), system_clock().realtime_ns()));
      break;
  }
}

void SizeLookup::Round::ask() {
  size_t fresh = 0;  // those from here on were never asked for
  while (fresh < questions_.size() || !again_.empty() || in_flight_ > 0) {
    const int64_t now_ns = system_clock().monotonic_ns();
    int64_t wake_ns = now_ns + 60 * kNsPerSec;
    for (size_t i = 0; i < again_.size() && in_flight_ < parallel_;) {
      const size_t which = again_[i];
      if (questions_[which]->not_before_ns > now_ns) {
        wake_ns = std::min(wake_ns, questions_[which]->not_before_ns);
        ++i;
        continue;
      }
      again_[i] = again_.back();
      again_.pop_back();
      launch(which);
    }
    while (fresh < questions_.size() && in_flight_ < parallel_) launch(fresh++);
    for (const size_t which : again_) wake_ns = std::min(wake_ns, questions_[which]->not_before_ns);
    if (in_flight_ == 0 && again_.empty()) continue;  // all of them are settled
    uint64_t id = 0;
    HttpReply reply;
    if (in_flight_ == 0) {
      system_clock().wait({}, wake_ns);
    } else if (multi_.next(wake_ns, id, reply)) {
      --in_flight_;
      take(*questions_[id], reply);
      if (!questions_[id]->done) again_.push_back(id);
    }
  }
}

SizeLookup::SizeLookup(SizeSettings settings) : settings_(std::move(settings)), token_(settings_) {
  // Each has a connection of its own where HTTP/2 is not spoken.
  const uint64_t files = raise_open_files();
  const size_t most = files > kOtherFiles + 1 ? static_cast<size_t>(files - kOtherFiles) : 1;
  settings_.parallel = std::clamp<size_t>(settings_.parallel, 1, std::min<size_t>(most, 1'000));
}
SizeLookup::~SizeLookup() = default;

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

void SizeLookup::take_on(const std::vector<std::string_view>& paths, std::vector<std::optional<int64_t>>& known,
                         Questions& wanted, Questions& own, SizeCounts& counts) {
  const std::lock_guard lock(lock_);
  own.reserve(paths.size());
  for (size_t i = 0; i < paths.size(); ++i) {
    if (const Entry* entry = cached(paths[i])) {
      known[i] = entry->bytes;
      if (!entry->bytes) ++counts.unknown;
      continue;
    }
    std::shared_ptr<Question>& question = open_[paths[i]];
    if (!question) {
      question = std::make_shared<Question>();
      question->path = paths[i];
      question->backoff = Backoff(settings_.first_wait_ms, settings_.last_wait_ms);
      own.push_back(question);
    }
    wanted[i] = question;
  }
}

// Also where they came to nothing: others may wait for them.
void SizeLookup::settle(const Questions& asked, std::unique_ptr<HttpMulti> connections) {
  const std::lock_guard lock(lock_);
  if (connections) --rounds_;
  if (connections && connections->open() == 0) connections_.push_back(std::move(connections));
  for (const auto& question : asked) {
    open_.erase(question->path);
    if (!question->done) question->failed = true;
    if (!question->failed) remember(question->path, question->bytes);
    question->settled = true;
  }
  lock_.notify_all();
}

// Of more callers than there may be requests some wait.
std::unique_ptr<HttpMulti> SizeLookup::take_connections() {
  const std::lock_guard lock(lock_);
  while (rounds_ >= settings_.parallel) lock_.wait();
  if (connections_.empty()) connections_.push_back(std::make_unique<HttpMulti>(HttpMulti::Kind::remote));
  ++rounds_;
  auto taken = std::move(connections_.back());
  connections_.pop_back();
  return taken;
}

std::vector<std::optional<int64_t>> SizeLookup::sizes(const std::vector<std::string_view>& paths, SizeCounts& counts) {
  std::vector<std::optional<int64_t>> result(paths.size());
  Questions wanted(paths.size()), own;
  std::unique_ptr<HttpMulti> multi;
  try {
    take_on(paths, result, wanted, own, counts);
    if (!own.empty()) {
      multi = take_connections();
      Round round(settings_, token_, *multi, own);
      round.ask();
      requests_ += round.requests();
    }
  } catch (...) {
    settle(own, std::move(multi));
    throw;
  }
  settle(own, std::move(multi));
  const std::lock_guard lock(lock_);
  for (size_t i = 0; i < paths.size(); ++i) {
    if (!wanted[i]) continue;
    while (!wanted[i]->settled) lock_.wait();
    result[i] = wanted[i]->bytes;
    if (wanted[i]->failed) ++counts.failed;
    else if (!wanted[i]->bytes) ++counts.unknown;
  }
  return result;
}

}  // namespace tacho
