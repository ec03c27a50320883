#include "net/http/http_multi.h"

#include <curl/curl.h>

#include <algorithm>
#include <deque>
#include <map>

#include "base/text.h"
#include "base/units.h"
#include "net/http/http_tls.h"
#include "os/clock.h"

namespace tacho {
namespace {

constexpr size_t kHeaderLimit = 16 * 1024;
constexpr size_t kAtOnce = 4;                    // to one metadata service; many small servers listen with a queue of 5
constexpr int64_t kSilence_ns = 100 * kNsPerMs;  // one that is silent for longer holds nobody else up

struct Transfer {
  uint64_t id = 0;
  CURL* easy = nullptr;
  curl_slist* headers = nullptr;
  HttpReply reply;
  size_t body_limit = 0, header_bytes = 0;
  bool too_large = false;
  int64_t response_ns = 0;
  int64_t answer_deadline_ns = 0;  // 0: not connected yet
  int64_t begun_ns = 0;
  std::string door;  // the server and its port

  Transfer() = default;
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer() {
    if (easy != nullptr) ::curl_easy_cleanup(easy);
    ::curl_slist_free_all(headers);
  }
};

size_t on_body(char* data, size_t, size_t size, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (transfer.reply.response.body.size() + size > transfer.body_limit) {
    transfer.too_large = true;
    return 0;  // ends the transfer
  }
  transfer.reply.response.body.append(data, size);
  return size;
}

size_t on_header(char* data, size_t, size_t size, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::string_view line = trim({data, size});
  if (line.starts_with("HTTP/")) transfer.reply.response.headers.clear();  // those of a 100 Continue
  transfer.header_bytes += size;
  const size_t colon = line.find(':');
  if (colon != std::string_view::npos && transfer.header_bytes <= kHeaderLimit)
    transfer.reply.response.headers.emplace_back(lower(trim(line.substr(0, colon))), trim(line.substr(colon + 1)));
  return size;
}

// "http://169.254.169.254/latest/api/token" → "http://169.254.169.254"
std::string door_of(const std::string& url) {
  const size_t host = url.find("://");
  return url.substr(0, host == std::string::npos ? host : url.find_first_of("/?", host + 3));
}

HttpFailure failure_of(CURLcode code, const Transfer& transfer, bool remote) {
  switch (code) {
    case CURLE_PARTIAL_FILE:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_SSL_CONNECT_ERROR: return remote ? HttpFailure::reset : HttpFailure::refused;
    case CURLE_OK: return HttpFailure::none;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL: return HttpFailure::unreachable;
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING: return HttpFailure::reset;
    case CURLE_OPERATION_TIMEDOUT: {
      if (transfer.answer_deadline_ns != 0) return HttpFailure::timeout;
      curl_off_t looked_up_us = 0, connected_us = 0;
      ::curl_easy_getinfo(transfer.easy, CURLINFO_NAMELOOKUP_TIME_T, &looked_up_us);
      ::curl_easy_getinfo(transfer.easy, CURLINFO_CONNECT_TIME_T, &connected_us);
      if (connected_us > 0) return HttpFailure::timeout;
      // A name that is not found in time is as good as one that does not exist.
      return looked_up_us > 0 ? HttpFailure::connect_timeout : HttpFailure::unreachable;
    }
    default: return HttpFailure::refused;
  }
}

// A connection of its own, plain and direct.
void set_up_metadata(CURL* easy) {
  ::curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http");
  ::curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  ::curl_easy_setopt(easy, CURLOPT_PROXY, "");  // also against http_proxy of the environment
  ::curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
  // A connection that is used twice would be repeated by libcurl itself when it breaks.
  ::curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
  ::curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
}

// False without certificates to trust: nothing is sent then.
bool set_up_remote(CURL* easy, const HttpRequest& request) {
  const Result<Url> url = parse_url(request.url);
  if (!url) return false;
  ::curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  ::curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
  ::curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  if (is_loopback(*url)) ::curl_easy_setopt(easy, CURLOPT_PROXY, "");
  if (url->scheme != "https") return true;
  // Rather another stream than another connection. In the clear all would wait for the first answer to learn that there
  // are no streams.
  ::curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
  const Result<TrustStore> store = find_trust_store();
  if (!store) return false;
  ::curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
  ::curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
  ::curl_easy_setopt(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  ::curl_easy_setopt(easy, CURLOPT_CAINFO, store->file.empty() ? nullptr : store->file.c_str());
  ::curl_easy_setopt(easy, CURLOPT_CAPATH, store->directory.empty() ? nullptr : store->directory.c_str());
  return true;
}

void set_up(Transfer& transfer, const HttpRequest& request) {
  CURL* const easy = transfer.easy;
  for (const auto& [name, value] : request.headers)
    transfer.headers = ::curl_slist_append(transfer.headers, (name + ": " + value).c_str());
  ::curl_easy_setopt(easy, CURLOPT_PRIVATE, &transfer);
  ::curl_easy_setopt(easy, CURLOPT_URL, request.url.c_str());
  ::curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  ::curl_easy_setopt(easy, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  ::curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  ::curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
  ::curl_easy_setopt(easy, CURLOPT_USERAGENT, "tacho/" TACHO_VERSION);
  ::curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.connect_ms));
  ::curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(request.total_ms));
  ::curl_easy_setopt(easy, CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(request.body_limit));
  ::curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  ::curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
  ::curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
  ::curl_easy_setopt(easy, CURLOPT_HEADERDATA, &transfer);
  if (request.method != "GET") {
    ::curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, 0L);
    ::curl_easy_setopt(easy, CURLOPT_POSTFIELDS, "");  // Content-Length: 0
    ::curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
    transfer.headers = ::curl_slist_append(transfer.headers, "Content-Type:");  // libcurl's own is not sent
  }
  ::curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer.headers);
}

}  // namespace

struct HttpMulti::State {
  CURLM* multi = nullptr;
  bool remote = false;
  std::map<uint64_t, std::unique_ptr<Transfer>> transfers;
  std::deque<std::pair<uint64_t, HttpReply>> finished;
  std::deque<std::pair<uint64_t, HttpRequest>> waiting;

  void begin(uint64_t id, const HttpRequest& request, int64_t now_ns);

  // Begins what may begin. Returns when to look again.
  int64_t admit(int64_t now_ns, int64_t until_ns) {
    for (auto next = waiting.begin(); next != waiting.end();) {
      const std::string door = door_of(next->second.url);
      int64_t free_ns = 0;
      size_t inside = 0;
      for (const auto& [id, transfer] : transfers) {
        if (transfer->door != door || now_ns - transfer->begun_ns >= kSilence_ns) continue;
        free_ns =
            ++inside == 1 ? transfer->begun_ns + kSilence_ns : std::min(free_ns, transfer->begun_ns + kSilence_ns);
      }
      if (!remote && inside >= kAtOnce) {
        until_ns = std::min(until_ns, free_ns);
        ++next;
        continue;
      }
      const auto [id, request] = std::move(*next);
      next = waiting.erase(next);
      begin(id, request, now_ns);
    }
    return until_ns;
  }

  // Where one got no connection in time nobody will.
  void give_up_waiting(const std::string& door) {
    std::erase_if(waiting, [&](const auto& entry) {
      if (door_of(entry.second.url) != door) return false;
      finished.emplace_back(entry.first, HttpReply{HttpFailure::connect_timeout, {}});
      return true;
    });
  }

  void finish(uint64_t id, HttpFailure failure) {
    const auto found = transfers.find(id);
    if (found == transfers.end()) return;
    Transfer& transfer = *found->second;
    HttpReply& reply = transfer.reply;
    long status = 0;
    ::curl_easy_getinfo(transfer.easy, CURLINFO_RESPONSE_CODE, &status);
    reply.response.status = static_cast<int>(status);
    reply.failure = transfer.too_large ? HttpFailure::refused : failure;
    if (reply.failure != HttpFailure::none) reply.response = {};  // half an answer is none
    if (reply.failure == HttpFailure::connect_timeout) give_up_waiting(transfer.door);
    finished.emplace_back(id, std::move(reply));
    remove(found);
  }

  void remove(std::map<uint64_t, std::unique_ptr<Transfer>>::iterator at) {
    ::curl_multi_remove_handle(multi, at->second->easy);
    transfers.erase(at);
  }

  void collect() {
    int left = 0;
    while (CURLMsg* const message = ::curl_multi_info_read(multi, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      void* user = nullptr;
      ::curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &user);
      const auto& transfer = *static_cast<Transfer*>(user);
      finish(transfer.id, failure_of(message->data.result, transfer, remote));
    }
  }

  // libcurl knows no deadline for an answer in milliseconds: it begins when the request may be sent. Returns the next
  // one.
  int64_t watch_answers(int64_t now_ns, int64_t until_ns) {
    std::vector<uint64_t> late;
    for (auto& [id, transfer] : transfers) {
      curl_off_t ready_us = 0;
      ::curl_easy_getinfo(transfer->easy, CURLINFO_PRETRANSFER_TIME_T, &ready_us);
      if (ready_us > 0 && transfer->answer_deadline_ns == 0)
        transfer->answer_deadline_ns = now_ns + transfer->response_ns;
      if (transfer->answer_deadline_ns == 0) continue;
      if (transfer->answer_deadline_ns <= now_ns) late.push_back(id);
      else until_ns = std::min(until_ns, transfer->answer_deadline_ns);
    }
    for (const uint64_t id : late) finish(id, HttpFailure::timeout);
    return until_ns;
  }
};

HttpMulti::HttpMulti(Kind kind) : state_(std::make_unique<State>()) {
  state_->remote = kind == Kind::remote;
  static const CURLcode global = ::curl_global_init(CURL_GLOBAL_DEFAULT);
  if (global == CURLE_OK) state_->multi = ::curl_multi_init();
}

HttpMulti::~HttpMulti() {
  while (!state_->transfers.empty()) state_->remove(state_->transfers.begin());
  if (state_->multi != nullptr) ::curl_multi_cleanup(state_->multi);
}

void HttpMulti::add(uint64_t id, const HttpRequest& request) { state_->waiting.emplace_back(id, request); }

void HttpMulti::State::begin(uint64_t id, const HttpRequest& request, int64_t now_ns) {
  auto transfer = std::make_unique<Transfer>();
  transfer->id = id;
  transfer->begun_ns = now_ns;
  transfer->door = door_of(request.url);
  transfer->body_limit = request.body_limit;
  transfer->response_ns = request.response_ms * kNsPerMs;
  if (multi != nullptr) transfer->easy = ::curl_easy_init();
  if (transfer->easy == nullptr) {
    finished.emplace_back(id, HttpReply{HttpFailure::unreachable, {}});
    return;
  }
  if (!remote) set_up_metadata(transfer->easy);
  else if (!set_up_remote(transfer->easy, request))
    return finished.push_back({id, HttpReply{HttpFailure::refused, {}}});
  set_up(*transfer, request);
  ::curl_multi_add_handle(multi, transfer->easy);
  transfers[id] = std::move(transfer);
}

void HttpMulti::cancel(uint64_t id) {
  const auto found = state_->transfers.find(id);
  if (found != state_->transfers.end()) state_->remove(found);
  const auto is_meant = [&](const auto& entry) { return entry.first == id; };
  std::erase_if(state_->finished, is_meant);
  std::erase_if(state_->waiting, is_meant);
}

size_t HttpMulti::open() const { return state_->transfers.size() + state_->finished.size() + state_->waiting.size(); }

bool HttpMulti::next(int64_t until_ns, uint64_t& id, HttpReply& reply) {
  while (true) {
    const int64_t admit_ns = state_->admit(system_clock().monotonic_ns(), until_ns);
    if (state_->multi != nullptr) {
      int running = 0;
      ::curl_multi_perform(state_->multi, &running);
      state_->collect();
    }
    const int64_t now_ns = system_clock().monotonic_ns();
    const int64_t wake_ns = state_->watch_answers(now_ns, admit_ns);
    if (!state_->finished.empty()) {
      id = state_->finished.front().first;
      reply = std::move(state_->finished.front().second);
      state_->finished.pop_front();
      return true;
    }
    if (now_ns >= until_ns || (state_->transfers.empty() && state_->waiting.empty())) return false;
    const int64_t wait_ms = std::clamp<int64_t>((wake_ns - now_ns + kNsPerMs - 1) / kNsPerMs, 1, 1000);
    ::curl_multi_poll(state_->multi, nullptr, 0, static_cast<int>(wait_ms), nullptr);
  }
}

}  // namespace tacho
