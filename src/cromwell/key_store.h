// The public keys that identity tokens are signed with, from one address. One thread fetches them, and nobody holds a
// lock meanwhile: a caller that asks for a known key gets it at once, a few wait a moment for an unknown one, all
// others are told to come back. A key is used as long as its server says, and for an hour more where the server cannot
// be reached; never longer. Thread-safe.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <thread>

#include "os/thread.h"

namespace tacho {

struct JwtKey {
  std::string modulus, exponent;  // big-endian bytes
};
// {"keys":[{"kty":"RSA","kid":"…","n":"…","e":"AQAB"}]}: RSA keys by kid.
std::map<std::string, JwtKey> parse_jwks(std::string_view json);

struct FetchedKeys {
  std::map<std::string, JwtKey> keys;  // empty: they could not be had
  int64_t keep_ns = 0;                 // as their server says
};
// Asks the address; ends early when `cancelled`.
FetchedKeys fetch_keys(const std::string& url, const std::function<bool()>& cancelled);

class KeyStore {
 public:
  using Fetch = std::function<FetchedKeys(const std::function<bool()>& cancelled)>;
  using Now = std::function<int64_t()>;  // ns that only grow
  // `patience_ns`: how long one waits for a fetch.
  explicit KeyStore(Fetch fetch, Now now = {}, int64_t patience_ns = 5'000'000'000);
  ~KeyStore();

  enum class Found { yes, unknown, not_now };
  Found find(const std::string& key_id, JwtKey& key);

  static constexpr int kMostWaiting = 4;

 private:
  void run();

  const Fetch fetch_;
  const Now now_;
  const int64_t patience_ns_;
  WaitLock wait_lock_;
  std::map<std::string, JwtKey> keys_;
  int64_t until_ns_ = 0;       // of the keys
  int64_t next_fetch_ns_ = 0;  // not before
  bool wanted_ = false;        // the thread must fetch, or is fetching
  bool failed_ = false;        // the last time
  int waiting_ = 0;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace tacho
