#include "net/http/http.h"

#include <curl/curl.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <optional>

#include "base/text.h"
#include "base/units.h"
#include "net/http/http_debug.h"
#include "net/http/http_tls.h"
#include "os/clock.h"
#include "os/environment.h"
#include "os/signals.h"

namespace tacho {
namespace {

constexpr int64_t kCancelPollMs = 100;

// libcurl's global state; its other half, curl_global_cleanup, is left out: a process that ends needs it not.
void init_curl_once() {
  static const CURLcode done = curl_global_init(CURL_GLOBAL_DEFAULT);
  (void)done;
}

bool names_header(const Headers& headers, std::string_view lower_name) {
  return std::any_of(headers.begin(), headers.end(),
                     [&](const auto& header) { return lower(header.first) == lower_name; });
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

// What one exchange collects.
struct Exchange {
  HttpResponse response;
  size_t body_limit = 0;
  bool too_large = false;
  bool headers_complete = false;
  const HttpRequest* request = nullptr;
  bool refused = false;  // by on_chunk
};

size_t take_header(char* data, size_t size, size_t count, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  const std::string_view line = trim({data, size * count});
  if (line.starts_with("HTTP/")) {
    // A new answer begins: what came before was an interim one (1xx) or the proxy's.
    exchange.response.headers.clear();
    exchange.headers_complete = false;
    const size_t code = line.find(' ');
    exchange.response.status =
        code == std::string_view::npos ? 0 : parse_int<int>(line.substr(code + 1, 3)).value_or(0);
  } else if (line.empty()) {
    exchange.headers_complete = true;
  } else if (const size_t colon = line.find(':'); colon != std::string_view::npos) {
    exchange.response.headers.emplace_back(lower(trim(line.substr(0, colon))),
                                           std::string(trim(line.substr(colon + 1))));
  }
  return size * count;
}

size_t take_body(char* data, size_t size, size_t count, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  const int status = exchange.response.status;
  if (exchange.request->on_chunk && status >= 200 && status < 300) {
    if (exchange.request->on_chunk({data, size * count})) return size * count;
    exchange.refused = true;
    return 0;
  }
  if (exchange.response.body.size() + size * count > exchange.body_limit) {
    exchange.too_large = true;
    return 0;
  }
  exchange.response.body.append(data, size * count);
  return size * count;
}

size_t on_read(char* to, size_t size, size_t count, void* user) {
  return static_cast<BodySource*>(user)->read(to, size * count);
}

int on_seek(void* user, curl_off_t offset, int origin) {
  if (offset != 0 || origin != SEEK_SET) return CURL_SEEKFUNC_CANTSEEK;
  static_cast<BodySource*>(user)->rewind();
  return CURL_SEEKFUNC_OK;
}

int64_t body_bytes_of(const HttpRequest& request) {
  return request.source != nullptr ? request.source->bytes() : static_cast<int64_t>(request.body.size());
}

int on_debug(CURL*, curl_infotype type, char* data, size_t size, void*) {
  if (type == CURLINFO_HEADER_OUT) print_headers('>', {data, size});
  if (type == CURLINFO_HEADER_IN) print_headers('<', {data, size});
  return 0;
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

// http_proxy in lower case is all that libcurl knows for http (a CGI script's HTTP_PROXY is a request header); outside
// CGI the upper-case name is meant as written.
std::optional<std::string> upper_case_proxy(const Url& url) {
  if (url.scheme != "http" || environment_raw("http_proxy") || environment_raw("REQUEST_METHOD")) return std::nullopt;
  return environment_raw("HTTP_PROXY");
}

// A proxy elsewhere cannot reach what listens on this machine's loopback address; one that listens there itself can.
bool proxy_reaches(const Url& url) {
  if (!is_loopback(url)) return true;
  const bool tls = url.scheme == "https";
  for (const char* name :
       {tls ? "https_proxy" : "http_proxy", tls ? "HTTPS_PROXY" : "HTTP_PROXY", "all_proxy", "ALL_PROXY"}) {
    const std::string proxy = environment(name);
    if (proxy.empty()) continue;
    const Result<Url> place = parse_url(proxy.find("://") == std::string::npos ? "http://" + proxy : proxy);
    return place && is_loopback(*place);
  }
  return false;
}

}  // namespace

struct HttpClient::State {
  CURLM* multi = nullptr;
  CURL* easy = nullptr;
  std::function<bool()> cancelled;
  int stop_fd = -1;
  bool sent = false;
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> route{nullptr, curl_slist_free_all};
  char detail[CURL_ERROR_SIZE] = "";

  State() {
    init_curl_once();
    // libcurl's manual leaves SIGPIPE to the program where CURLOPT_NOSIGNAL is set: some TLS libraries write() to a
    // connection that was reset.
    ignore_broken_pipes();
    multi = curl_multi_init();
    easy = curl_easy_init();
    if (multi != nullptr) curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, 4L);
  }
  ~State() {
    curl_easy_cleanup(easy);
    curl_multi_cleanup(multi);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Status prepare(const HttpRequest& request, const Url& url, Exchange& exchange, curl_slist*& list);
  void set_body(const HttpRequest& request);
  void set_pem(CURLoption option, const std::string& text);
  void set_server_name(const HttpRequest& request, const Url& url, curl_slist*& list);
  Status exchange_once(const HttpRequest& request, const Url& url, int64_t deadline_ns, Exchange& exchange);
  Status wait(const HttpRequest& request, const Url& url, int64_t deadline_ns);
  bool is_cancelled() const { return cancelled && cancelled(); }
};

void HttpClient::State::set_body(const HttpRequest& request) {
  const std::string& method = request.method;
  if (method == "HEAD") {
    curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
  } else if (request.source != nullptr) {
    request.source->rewind();
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body_bytes_of(request)));
    curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_read);
    curl_easy_setopt(easy, CURLOPT_READDATA, request.source);
    curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, on_seek);
    curl_easy_setopt(easy, CURLOPT_SEEKDATA, request.source);
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method.c_str());
  } else if (request.has_body || !request.body.empty() || method == "POST" || method == "PUT") {
    // POSTFIELDS serves every method: libcurl can send it again by itself when a kept connection turns out to be dead.
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.data());
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method.c_str());
  } else {
    curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method.c_str());
  }
}

void HttpClient::State::set_pem(CURLoption option, const std::string& text) {
  curl_blob blob{const_cast<char*>(text.data()), text.size(), CURL_BLOB_COPY};
  curl_easy_setopt(easy, option, &blob);
}

// libcurl verifies the name in the URL: the certificate's name goes there, and the connection to where the URL led.
void HttpClient::State::set_server_name(const HttpRequest& request, const Url& url, curl_slist*& list) {
  const std::string& given = request.tls.server_name;
  const std::string name = given.find(':') == std::string::npos ? given : std::string("[") + given + "]";
  const std::string port = std::to_string(url.port);
  const size_t rest = request.url.find_first_of("/?#", url.scheme.size() + 3);
  std::string named = url.scheme + "://" + name + ":" + port;
  if (rest != std::string::npos) named += request.url.substr(rest);
  curl_easy_setopt(easy, CURLOPT_URL, named.c_str());
  route.reset(curl_slist_append(nullptr, (name + ":" + port + ":" + url.host + ":" + port).c_str()));
  curl_easy_setopt(easy, CURLOPT_CONNECT_TO, route.get());
  if (!names_header(request.headers, "host")) list = curl_slist_append(list, ("Host: " + url.host_header()).c_str());
}

Status HttpClient::State::prepare(const HttpRequest& request, const Url& url, Exchange& exchange, curl_slist*& list) {
  curl_easy_reset(easy);  // connections and names that are known stay
  curl_easy_setopt(easy, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);  // /../ in a key is part of the key
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);  // a resolver that hangs is not waited for
  curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
  curl_easy_setopt(easy, CURLOPT_HEADEROPT, static_cast<long>(CURLHEADER_SEPARATE));  // ours are not the proxy's
  curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.connect_ms));
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, detail);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &exchange);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &exchange);
  if (debug_http()) {
    curl_easy_setopt(easy, CURLOPT_VERBOSE, 1L);
    curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, on_debug);
  }
  if (!request.use_proxy || !proxy_reaches(url)) {
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
  } else if (const auto proxy = upper_case_proxy(url)) {
    curl_easy_setopt(easy, CURLOPT_PROXY, proxy->c_str());
  }
  if (url.scheme == "https" || request.use_proxy) {
    const bool own_ca = !request.tls.ca_pem.empty() && url.scheme == "https";
    const Result<TrustStore> store = own_ca ? Result<TrustStore>(TrustStore{}) : find_trust_store();
    if (!store && url.scheme == "https") return store.error();
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    if (store) {
      curl_easy_setopt(easy, CURLOPT_CAINFO, store->file.empty() ? nullptr : store->file.c_str());
      curl_easy_setopt(easy, CURLOPT_CAPATH, store->directory.empty() ? nullptr : store->directory.c_str());
    }
    if (own_ca) set_pem(CURLOPT_CAINFO_BLOB, request.tls.ca_pem);
    if (!request.tls.cert_pem.empty() && url.scheme == "https") {
      set_pem(CURLOPT_SSLCERT_BLOB, request.tls.cert_pem);
      set_pem(CURLOPT_SSLKEY_BLOB, request.tls.key_pem);
    }
  }
  if (request.on_chunk) {
    // A stream is silent for minutes: only the kernel notices that the other machine is gone.
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 15L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 5L);
  }
  // A server may compress unasked (RFC 9110 §12.5.3), so every answer is unpacked.
  curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip");
  if (!request.accept_gzip && !names_header(request.headers, "accept-encoding"))
    list = curl_slist_append(list, "Accept-Encoding:");
  set_body(request);
  if (!request.tls.server_name.empty() && url.scheme == "https") set_server_name(request, url, list);
  for (const auto& [name, value] : request.headers) {
    // "Name;" is libcurl's way to write a header without a value.
    list = curl_slist_append(list, value.empty() ? (name + ";").c_str() : (name + ": " + value).c_str());
  }
  list = curl_slist_append(list, "Expect:");
  if (!names_header(request.headers, "content-type")) list = curl_slist_append(list, "Content-Type:");
  if (!names_header(request.headers, "accept")) list = curl_slist_append(list, "Accept: */*");
  if (!names_header(request.headers, "user-agent")) list = curl_slist_append(list, "User-Agent: tacho/" TACHO_VERSION);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, list);
  return ok();
}

// Until libcurl is done or a deadline has passed. libcurl knows the connect deadline; the others are ours, because it
// cannot tell a server that thinks for long from one that does not take the body.
Status HttpClient::State::wait(const HttpRequest& request, const Url& url, int64_t deadline_ns) {
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
    if (is_cancelled()) return Error{Code::gone, "the request was cut short", url.place(), ""};
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
    if (now >= deadline_ns) return timed_out("the request took too long", url);
    int64_t next_ns = deadline_ns;
    if (sent) {
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
    status = wait(request, url, deadline_ns);
    if (status) {
      CURLcode code = CURLE_OK;
      int left = 0;
      while (const CURLMsg* message = curl_multi_info_read(multi, &left)) {
        if (message->msg == CURLMSG_DONE) code = message->data.result;
      }
      long answer = 0;
      curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &answer);
      exchange.response.status = static_cast<int>(answer);
      if (exchange.refused) {
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
void HttpClient::set_stop_fd(int stop_fd) { state_->stop_fd = stop_fd; }

Result<HttpResponse> HttpClient::send(const HttpRequest& request) {
  if (state_->multi == nullptr || state_->easy == nullptr)
    return Error{Code::io, "the HTTP library cannot be started", "", "check the memory"};
  if (const Status good = check_headers(request.headers); !good) return good.error();
  constexpr int64_t kForEver = std::numeric_limits<int64_t>::max();
  const int64_t deadline_ns =
      request.idle_ms > 0 ? kForEver : system_clock().monotonic_ns() + request.total_ms * kNsPerMs;
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
    const bool redirect = status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
    const std::string_view location = response.header("location");
    if (!redirect || request.redirects == 0 || location.empty()) return std::move(response);
    if (followed >= request.redirects)
      return Error{Code::invalid, "the server redirects again and again", url->place(), "check the address"};
    Result<std::string> target = follow_redirect(now.url, std::string(location));
    if (!target) return target.error();
    if (!redirected) redirected = request;
    redirected->url = std::move(*target);
    if (status ==
        303) {  // "see other": the answer is there to be read. Every other kind repeats the request as it was.
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
