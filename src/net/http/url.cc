#include "net/http/url.h"

#include <arpa/inet.h>
#include <curl/curl.h>

#include <memory>

#include "base/text.h"
#include "os/environment.h"

namespace tacho {
namespace {

using Handle = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

std::string part(CURLU* handle, CURLUPart which, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(handle, which, &text, flags) != CURLUE_OK || text == nullptr) return {};
  std::string copy = text;
  curl_free(text);
  return copy;
}

int default_port(std::string_view scheme) { return scheme == "https" ? 443 : 80; }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Error not_a_url(const std::string& url) {
  // Everything behind the path may be a secret.
  return {Code::invalid, "this is not an http or https URL", url.substr(0, url.find_first_of("?#@")),
          "write it as https://host/path"};
}

}  // namespace

Result<Url> parse_url(const std::string& url) {
  for (const char c : url) {
    if (static_cast<unsigned char>(c) <= ' ' || c == '\x7f')
      return not_a_url("(a URL with a blank or a control character)");
  }
  const Handle handle{curl_url(), curl_url_cleanup};
  if (!handle || curl_url_set(handle.get(), CURLUPART_URL, url.c_str(), CURLU_PATH_AS_IS) != CURLUE_OK)
    return not_a_url(url);
  Url parts;
  parts.scheme = lower(part(handle.get(), CURLUPART_SCHEME));
  if (parts.scheme != "http" && parts.scheme != "https") return not_a_url(url);
  parts.host = lower(part(handle.get(), CURLUPART_HOST));
  parts.path = part(handle.get(), CURLUPART_PATH);
  parts.query = part(handle.get(), CURLUPART_QUERY);
  parts.has_user = !part(handle.get(), CURLUPART_USER).empty() || !part(handle.get(), CURLUPART_PASSWORD).empty();
  parts.port =
      parse_int<int>(part(handle.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT)).value_or(default_port(parts.scheme));
  if (parts.host.empty()) return not_a_url(url);
  return parts;
}

std::string Url::host_header() const { return port == default_port(scheme) ? host : host + ":" + std::to_string(port); }

std::string Url::place() const { return scheme + "://" + host_header() + path; }

bool is_loopback(const Url& url) {
  if (url.host == "localhost" || url.host.ends_with(".localhost")) return true;
  in_addr v4{};
  if (inet_pton(AF_INET, url.host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  if (url.host.size() < 3 || url.host.front() != '[') return false;
  in6_addr v6{};
  return inet_pton(AF_INET6, url.host.substr(1, url.host.size() - 2).c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

Status check_url(const std::string& url) {
  const Result<Url> parts = parse_url(url);
  if (!parts) return parts.error();
  if (parts->has_user)
    return Error{Code::invalid, "a URL with a user name or password in it is refused", parts->place(), "leave it out"};
  if (parts->scheme == "https" || is_loopback(*parts)) return ok();
  if (environment_on("TACHO_ALLOW_HTTP")) return ok();
  return Error{Code::invalid, "plain http is refused, because the secret would travel in the clear", parts->place(),
               "use https, or set TACHO_ALLOW_HTTP=1 if that is really meant"};
}

Result<std::string> follow_redirect(const std::string& from, const std::string& location) {
  const Result<Url> old_parts = parse_url(from);
  if (!old_parts) return old_parts.error();
  const Handle handle{curl_url(), curl_url_cleanup};
  std::string to;
  if (handle && curl_url_set(handle.get(), CURLUPART_URL, from.c_str(), CURLU_PATH_AS_IS) == CURLUE_OK &&
      curl_url_set(handle.get(), CURLUPART_URL, location.c_str(), CURLU_PATH_AS_IS) == CURLUE_OK) {
    curl_url_set(handle.get(), CURLUPART_FRAGMENT, nullptr, 0);
    to = part(handle.get(), CURLUPART_URL);
  }
  const Result<Url> parts = parse_url(to);
  if (!parts)
    return Error{Code::invalid, "the server redirects to something that is no URL", old_parts->place(),
                 "check the address"};
  const bool both_default =
      old_parts->port == default_port(old_parts->scheme) && parts->port == default_port(parts->scheme);
  if (parts->has_user || parts->host != old_parts->host || (parts->port != old_parts->port && !both_default)) {
    return Error{Code::invalid, "the server redirects to another host, which is refused", parts->place(),
                 "set the address that is meant"};
  }
  if (old_parts->scheme == "https" && parts->scheme != "https") {
    return Error{Code::invalid, "the server redirects from https to http, which is refused", parts->place(),
                 "set the address that is meant"};
  }
  return to;
}

std::string percent_encode(std::string_view text, bool keep_slash) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size() + text.size() / 4);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') ||
                       byte == '-' || byte == '.' || byte == '_' || byte == '~' || (byte == '/' && keep_slash);
    if (plain) {
      out += c;
    } else {
      out += '%';
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out;
}

std::string percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size(); ++at) {
    const bool coded =
        text[at] == '%' && at + 2 < text.size() && hex_digit(text[at + 1]) >= 0 && hex_digit(text[at + 2]) >= 0;
    out += coded ? static_cast<char>(hex_digit(text[at + 1]) * 16 + hex_digit(text[at + 2])) : text[at];
    if (coded) at += 2;
  }
  return out;
}

std::optional<int64_t> parse_http_date(std::string_view text) {
  const time_t seconds = curl_getdate(std::string(text).c_str(), nullptr);
  if (seconds < 0) return std::nullopt;
  return seconds;
}

}  // namespace tacho
