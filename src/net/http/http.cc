#include "net/http/http.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/text.h"
#include "base/units.h"
#include "net/http/http_state.h"
#include "os/clock.h"
#include "os/signals.h"

namespace tacho {
namespace {

constexpr int64_t kCancelPollMs = 100;

// libcurl's global state; its other half, curl_global_cleanup, is left out: a process that ends needs it not.
void init_curl_once() {
  static const CURLcode done = curl_global_init(CURL_GLOBAL_DEFAULT);
  (void)done;
}

// A line break in a value would be a header of somebody else's making.
Status check_headers(const Headers& headers) {
  for (const auto& [name, value] : headers) {
    const auto control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
    if (name.empty() || name.find_first_of(" :") != std::string::npos ||
        std::any_of(name.begin(), name.end(), control) ||
        std::any_of(value.begin(), value.end(), [&](char c) { return control(c) && c != '\t'; })) {
      return Error{Code::invalid, "an HTTP header holds a line break or another control character", name,
                   "check the token or the value it is made of"};
    }
  }
  return ok();
}

Error timed_out(const char* what, const Url& url) { return {Code::io, what, url.place(), "it is tried again"}; }

Error curl_error(CURLcode code, const char* detail, const Url& url) {
  const std::string text = detail[0] != '\0' ? detail : curl_easy_strerror(code);
  switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
      return {Code::denied, "the server's certificate was refused: " + text, url.place(),
              "check the clock, and SSL_CERT_FILE when the server has a CA of its own"};
    case CURLE_SSL_CACERT_BADFILE:
      return {Code::invalid, "the CA certificates cannot be used: " + text, url.place(),
              "name a PEM file in SSL_CERT_FILE"};
    case CURLE_URL_MALFORMAT:
      return {Code::invalid, "this address cannot be used: " + text, url.place(), "check the URL"};
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
      return {Code::io, "the name cannot be resolved: " + text, url.place(), "check the network and the URL"};
    default: return {Code::io, "no answer: " + text, url.place(), "it is tried again"};
  }
}

}  // namespace

HttpClient::State::State() {
  init_curl_once();
  // libcurl's manual leaves SIGPIPE to the program where CURLOPT_NOSIGNAL is set: some TLS libraries write() to a
  // connection that was reset.
  ignore_broken_pipes();
  multi = curl_multi_init();
  easy = curl_easy_init();
  if (multi != nullptr) curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, 4L);
}

// Until libcurl is done or a deadline has passed. libcurl knows the connect deadline; the others are ours, because it
// cannot tell a server that thinks for long from one that does not take the body.
Status HttpClient::State::wait(const HttpRequest& request, const Url& url, int64_t deadline_ns,
                               const Exchange& exchange) {
  Clock& clock = system_clock();
  const auto body_bytes = static_cast<curl_off_t>(body_bytes_of(request));
  curl_off_t uploaded = 0;
  curl_off_t downloaded = 0;
  bool connected = false;
  int64_t progress_ns = 0, sent_ns = 0;
  for (;;) {
    int running = 0;
    if (curl_multi_perform(multi, &running) != CURLM_OK)
      return Error{Code::io, "the HTTP library failed", url.place(), "it is tried again"};
    if (is_cancelled())
      return exchange.is_enough() ? ok() : Status(Error{Code::gone, "the request was cut short", url.place(), ""});
    const int64_t now = clock.monotonic_ns();
    curl_off_t ready_us = 0, upload = 0;
    curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &ready_us);
    curl_easy_getinfo(easy, CURLINFO_SIZE_UPLOAD_T, &upload);
    if (ready_us > 0 && (!connected || upload != uploaded)) {
      connected = true;
      uploaded = upload;
      progress_ns = now;
    }
    if (connected && !sent && uploaded >= body_bytes) {
      sent = true;
      sent_ns = now;
    }
    if (request.idle_ms > 0) {
      curl_off_t download = 0;
      curl_easy_getinfo(easy, CURLINFO_SIZE_DOWNLOAD_T, &download);
      if (download != downloaded) sent_ns = now;  // every piece begins the wait anew
      downloaded = download;
    }
    if (running == 0) return ok();
    if (exchange.is_enough() && now >= exchange.head_ns + request.body_is_optional_ms * kNsPerMs) return ok();
    if (now >= deadline_ns) return timed_out("the request took too long", url);
    int64_t next_ns = deadline_ns;
    if (exchange.is_enough()) {
      next_ns = std::min(next_ns, exchange.head_ns + request.body_is_optional_ms * kNsPerMs);
    } else if (sent) {
      next_ns = std::min(next_ns, sent_ns + (request.idle_ms > 0 ? request.idle_ms : request.response_ms) * kNsPerMs);
      if (now >= next_ns) return timed_out("the server does not answer", url);
    } else if (connected) {
      next_ns = std::min(next_ns, progress_ns + request.stalled_ms * kNsPerMs);
      if (now >= next_ns) return timed_out("the server does not take the request", url);
    }
    int64_t wait_ms = (next_ns - now) / kNsPerMs + 1;
    if (cancelled) wait_ms = std::min(wait_ms, kCancelPollMs);
    curl_waitfd extra{stop_fd, CURL_WAIT_POLLIN, 0};
    curl_multi_poll(multi, stop_fd >= 0 ? &extra : nullptr, stop_fd >= 0 ? 1 : 0,
                    static_cast<int>(std::min<int64_t>(wait_ms, 60'000)), nullptr);
    if (stop_fd >= 0 && extra.revents != 0) return Error{Code::gone, "the request was cut short", url.place(), ""};
  }
}

Status HttpClient::State::exchange_once(const HttpRequest& request, const Url& url, int64_t deadline_ns,
                                        Exchange& exchange) {
  detail[0] = '\0';
  sent = false;
  curl_slist* list = nullptr;
  Status status = prepare(request, url, exchange, list);
  if (status) {
    curl_multi_add_handle(multi, easy);
    status = wait(request, url, deadline_ns, exchange);
    if (status) {
      CURLcode code = CURLE_OK;
      int left = 0;
      while (const CURLMsg* message = curl_multi_info_read(multi, &left)) {
        if (message->msg == CURLMSG_DONE) code = message->data.result;
      }
      long answer = 0;
      curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &answer);
      exchange.response.status = static_cast<int>(answer);
      if (exchange.is_enough()) {
        // Whatever became of the body.
      } else if (exchange.refused) {
        status = Error{Code::gone, "the stream was left", url.place(), ""};
      } else if (exchange.too_large) {
        status = Error{Code::invalid, "the answer is larger than " + std::to_string(exchange.body_limit) + " bytes",
                       url.place(), "check the address"};
      } else if (code != CURLE_OK) {
        status = curl_error(code, detail, url);
      } else if (!exchange.headers_complete) {
        status = Error{Code::io, "the answer was cut off", url.place(), "it is tried again"};
      }
    }
    curl_multi_remove_handle(multi, easy);
  }
  curl_slist_free_all(list);
  return status;
}

HttpClient::HttpClient() : state_(std::make_unique<State>()) {}
HttpClient::~HttpClient() = default;
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;

bool HttpClient::sent() const { return state_->sent; }
void HttpClient::on_cancel(std::function<bool()> cancelled) { state_->cancelled = std::move(cancelled); }
bool HttpClient::is_cancelled() const { return state_->is_cancelled(); }
void HttpClient::end_by(int64_t monotonic_ns) { state_->end_ns = monotonic_ns; }
void HttpClient::set_stop_fd(int stop_fd) { state_->stop_fd = stop_fd; }

Result<HttpResponse> HttpClient::send(const HttpRequest& request) {
  if (state_->multi == nullptr || state_->easy == nullptr)
    return Error{Code::io, "the HTTP library cannot be started", "", "check the memory"};
  for (const Headers* headers : {&request.headers, &request.secret_headers})
    if (const Status good = check_headers(*headers); !good) return good.error();
  constexpr int64_t kForEver = std::numeric_limits<int64_t>::max();
  int64_t deadline_ns = request.idle_ms > 0 ? kForEver : system_clock().monotonic_ns() + request.total_ms * kNsPerMs;
  if (state_->end_ns > 0) deadline_ns = std::min(deadline_ns, state_->end_ns);
  std::optional<HttpRequest> redirected;  // a body is copied only when it goes elsewhere
  for (int followed = 0;; ++followed) {
    const HttpRequest& now = redirected ? *redirected : request;
    const Result<Url> url = parse_url(now.url);
    if (!url) return url.error();
    Exchange exchange;
    exchange.body_limit = request.body_limit;
    exchange.request = &now;
    if (const Status status = state_->exchange_once(now, *url, deadline_ns, exchange); !status) return status.error();
    HttpResponse& response = exchange.response;
    const int status = response.status;
    const bool see_other = status == 303;
    const bool redirect =
        status == 301 || status == 302 || status == 307 || status == 308 || (see_other && request.follows_see_other);
    const std::string_view location = response.header("location");
    if (!redirect || request.redirects == 0 || location.empty()) return std::move(response);
    if (followed >= request.redirects)
      return Error{Code::invalid, "the server redirects again and again", url->place(), "check the address"};
    Result<std::string> target = follow_redirect(now.url, std::string(location));
    if (!target) return target.error();
    if (!redirected) redirected = request;
    redirected->url = std::move(*target);
    if (see_other) {  // the answer is there to be read. Every other kind repeats the request as it was.
      redirected->method = "GET";
      redirected->body.clear();
      redirected->source = nullptr;
      redirected->has_body = false;
    }
  }
}

std::string_view HttpResponse::header(std::string_view lower_name) const {
  for (const auto& [name, value] : headers) {
    if (name == lower_name) return value;
  }
  return {};
}

}  // namespace tacho
