// How a request is said to libcurl.
#include <algorithm>
#include <optional>

#include "base/text.h"
#include "net/http/http_debug.h"
#include "net/http/http_state.h"
#include "net/http/http_tls.h"
#include "os/clock.h"
#include "os/environment.h"

namespace tacho {
namespace {

bool names_header(const Headers& headers, std::string_view lower_name) {
  return std::any_of(headers.begin(), headers.end(),
                     [&](const auto& header) { return lower(header.first) == lower_name; });
}

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
    exchange.head_ns = system_clock().monotonic_ns();
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

int on_debug(CURL*, curl_infotype type, char* data, size_t size, void* user) {
  if (type == CURLINFO_HEADER_OUT)
    print_headers('>', {data, size}, static_cast<const Exchange*>(user)->request->secret_headers);
  if (type == CURLINFO_HEADER_IN) print_headers('<', {data, size});
  return 0;
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

void add_headers(const Headers& headers, curl_slist*& list) {
  for (const auto& [name, value] : headers) {
    // "Name;" is libcurl's way to write a header without a value.
    list = curl_slist_append(list, value.empty() ? (name + ";").c_str() : (name + ": " + value).c_str());
  }
}

// What libcurl would say by itself, or we say of every request, where the request does not say it.
void add_usual_headers(const HttpRequest& request, curl_slist*& list) {
  const auto named = [&](std::string_view name) {
    return names_header(request.headers, name) || names_header(request.secret_headers, name);
  };
  list = curl_slist_append(list, "Expect:");
  if (!named("content-type")) list = curl_slist_append(list, "Content-Type:");
  if (!named("accept")) list = curl_slist_append(list, "Accept: */*");
  if (!named("user-agent")) list = curl_slist_append(list, "User-Agent: tacho/" TACHO_VERSION);
}

}  // namespace

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

Status HttpClient::State::set_tls(const HttpRequest& request, const Url& url) {
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
  return ok();
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
    curl_easy_setopt(easy, CURLOPT_DEBUGDATA, &exchange);
  }
  if (!request.use_proxy || !proxy_reaches(url)) {
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
  } else if (const auto proxy = upper_case_proxy(url)) {
    curl_easy_setopt(easy, CURLOPT_PROXY, proxy->c_str());
  }
  if (url.scheme == "https" || request.use_proxy) {
    if (const Status status = set_tls(request, url); !status) return status;
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
  add_headers(request.headers, list);
  add_headers(request.secret_headers, list);
  add_usual_headers(request, list);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, list);
  return ok();
}

}  // namespace tacho
