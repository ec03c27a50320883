#include "cromwell/key_store.h"

#include <signal.h>

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/json_bounds.h"
#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "net/http/http.h"
#include "net/http/json_text.h"
#include "os/clock.h"

namespace tacho {
namespace {

using Json = nlohmann::json;

constexpr int64_t kLeastKeepNs = 300 * kNsPerSec, kMostKeepNs = 86'400 * kNsPerSec;
constexpr int64_t kGraceNs = 3'600 * kNsPerSec;        // beyond that, where they cannot be had anew
constexpr int64_t kBetweenFetchesNs = 30 * kNsPerSec;  // nobody makes us knock at Google's door all day
constexpr int64_t kAfterFailureNs = 5 * kNsPerSec;
constexpr size_t kMostKeys = 100;
constexpr JsonBounds kKeyBounds{256 * 1024, 8, 10'000};

// Cache-Control: public, max-age=19845, must-revalidate
int64_t max_age_ns(std::string_view cache_control) {
  constexpr std::string_view kWord = "max-age=";
  const size_t at = cache_control.find(kWord);
  if (at == std::string_view::npos) return kLeastKeepNs;
  std::string_view digits = cache_control.substr(at + kWord.size());
  digits = digits.substr(0, digits.find_first_not_of("0123456789"));
  const int64_t value_s = parse_int<int64_t>(digits).value_or(0);
  return std::clamp(std::min(value_s, kMostKeepNs / kNsPerSec) * kNsPerSec, kLeastKeepNs, kMostKeepNs);
}

}  // namespace

std::map<std::string, JwtKey> parse_jwks(std::string_view json) {
  std::map<std::string, JwtKey> keys;
  const Json root = parse_bounded<Json>(json, kKeyBounds);
  if (!root.is_object() || !root.contains("keys") || !root["keys"].is_array()) return keys;
  for (const Json& entry : root["keys"]) {
    if (!entry.is_object() || json_text(entry, "kty") != "RSA" || json_text(entry, "kid").empty()) continue;
    const auto modulus = base64_decode(json_text(entry, "n")), exponent = base64_decode(json_text(entry, "e"));
    if (modulus && exponent && !modulus->empty() && !exponent->empty() && keys.size() < kMostKeys)
      keys[json_text(entry, "kid")] = {*modulus, *exponent};
  }
  return keys;
}

FetchedKeys fetch_keys(const std::string& url, const std::function<bool()>& cancelled) {
  HttpClient http;
  http.on_cancel(cancelled);
  HttpRequest request;
  request.url = url;
  request.body_limit = kKeyBounds.bytes;
  request.connect_ms = request.response_ms = request.total_ms = 10'000;
  const auto answer = http.send(request);
  FetchedKeys fetched;
  if (answer && answer->status == 200) {
    fetched.keys = parse_jwks(answer->body);
    fetched.keep_ns = max_age_ns(answer->header("cache-control"));
  }
  if (fetched.keys.empty() && !cancelled())
    log::warn("the keys for identity tokens cannot be fetched from " + url + "; it is tried again");
  return fetched;
}

KeyStore::KeyStore(Fetch fetch, Now now, int64_t patience_ns)
    : fetch_(std::move(fetch)),
      now_(now ? std::move(now) : [] { return system_clock().monotonic_ns(); }),
      patience_ns_(patience_ns) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

KeyStore::~KeyStore() {
  stopping_ = true;
  {
    const std::lock_guard lock(wait_lock_);
    wait_lock_.notify_all();
  }
  thread_.join();
}

void KeyStore::run() {
  std::unique_lock lock(wait_lock_);
  while (!stopping_) {
    if (!wanted_) {
      wait_lock_.wait();
      continue;
    }
    lock.unlock();
    FetchedKeys fetched;
    try {
      fetched = fetch_([this] { return stopping_.load(); });
    } catch (const std::exception& error) {
      log::warn(std::string("the keys for identity tokens cannot be fetched: ") + error.what());
    }
    lock.lock();
    const int64_t now_ns = now_();
    failed_ = fetched.keys.empty();
    if (!failed_) {
      keys_ = std::move(fetched.keys);
      until_ns_ = now_ns + fetched.keep_ns;
    }
    next_fetch_ns_ = now_ns + (failed_ ? kAfterFailureNs : kBetweenFetchesNs);
    wanted_ = false;
    wait_lock_.notify_all();
  }
}

KeyStore::Found KeyStore::find(const std::string& key_id, JwtKey& key) {
  std::unique_lock lock(wait_lock_);
  const int64_t patience_until_ns = system_clock().monotonic_ns() + patience_ns_;
  for (;;) {
    const int64_t now_ns = now_();
    const auto found = keys_.find(key_id);
    if (found != keys_.end() && now_ns < until_ns_) return key = found->second, Found::yes;
    if (!wanted_ && now_ns >= next_fetch_ns_) {
      wanted_ = true;
      wait_lock_.notify_all();
    }
    const bool may_wait = wanted_ && waiting_ < kMostWaiting && system_clock().monotonic_ns() < patience_until_ns;
    if (!may_wait) {
      // Old keys are better than none while their server is away, but not for ever: one of them may have been
      // withdrawn.
      const bool usable = !keys_.empty() && now_ns < until_ns_ + kGraceNs;
      if (found != keys_.end() && usable) return key = found->second, Found::yes;
      return wanted_ || failed_ || !usable ? Found::not_now : Found::unknown;
    }
    ++waiting_;
    wait_lock_.wait_until(patience_until_ns);
    --waiting_;
  }
}

}  // namespace tacho
