// What an HttpClient is made of: libcurl's handles, and what one exchange collects. Private to http.cc and
// http_prepare.cc; not thread-safe.
#pragma once
#include <curl/curl.h>

#include "net/http/http.h"

namespace tacho {

// What one exchange collects.
struct Exchange {
  HttpResponse response;
  size_t body_limit = 0;
  bool too_large = false;
  bool headers_complete = false;
  const HttpRequest* request = nullptr;
  bool refused = false;  // by on_chunk
  int64_t head_ns = 0;   // when the head was complete

  // Whether nothing that comes now, or does not come, can make it worse.
  bool is_enough() const {
    return request != nullptr && request->body_is_optional_ms > 0 && headers_complete && response.status >= 200;
  }
};

inline int64_t body_bytes_of(const HttpRequest& request) {
  return request.source != nullptr ? request.source->bytes() : static_cast<int64_t>(request.body.size());
}

struct HttpClient::State {
  CURLM* multi = nullptr;
  CURL* easy = nullptr;
  std::function<bool()> cancelled;
  int64_t end_ns = 0;  // of every request; 0: none
  int stop_fd = -1;
  bool sent = false;
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> route{nullptr, curl_slist_free_all};
  char detail[CURL_ERROR_SIZE] = "";

  State();
  ~State() {
    curl_easy_cleanup(easy);
    curl_multi_cleanup(multi);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Status set_tls(const HttpRequest& request, const Url& url);
  Status prepare(const HttpRequest& request, const Url& url, Exchange& exchange, curl_slist*& list);
  void set_body(const HttpRequest& request);
  void set_pem(CURLoption option, const std::string& text);
  void set_server_name(const HttpRequest& request, const Url& url, curl_slist*& list);
  Status exchange_once(const HttpRequest& request, const Url& url, int64_t deadline_ns, Exchange& exchange);
  Status wait(const HttpRequest& request, const Url& url, int64_t deadline_ns, const Exchange& exchange);
  bool is_cancelled() const { return cancelled && cancelled(); }
};

}  // namespace tacho
