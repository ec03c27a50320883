// URLs as tacho needs them: which ones may be used, and how a path is written. Pure but for check_url, which reads
// TACHO_ALLOW_HTTP; thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tacho {

struct Url {
  std::string scheme, host, path,
      query;     // host in lower case, IPv6 in brackets; path begins with a slash and stays encoded
  int port = 0;  // the scheme's own when none was given
  bool has_user = false;
  std::string host_header() const;  // host, with the port unless it is the scheme's own
  std::string place() const;  // scheme://host[:port]/path, for a message: never the query, which may hold a secret
};
Result<Url> parse_url(const std::string& url);

// localhost, *.localhost (libcurl resolves both to loopback itself), 127.0.0.0/8 and [::1].
bool is_loopback(const Url& url);
// http:// is for loopback only; elsewhere it is an error unless TACHO_ALLOW_HTTP=1.
Status check_url(const std::string& url);

// Where a redirect leads; refused when it leaves the host or falls back from https to http. The port stays the same
// too: another port is another service.
Result<std::string> follow_redirect(const std::string& from, const std::string& location);

std::string percent_encode(std::string_view text, bool keep_slash);  // RFC 3986, upper-case hex
std::string percent_decode(std::string_view text);                   // a % without two hex digits stays
// "Sun, 06 Nov 1994 08:49:37 GMT" and the older forms of RFC 9110 as UNIX seconds.
std::optional<int64_t> parse_http_date(std::string_view text);

}  // namespace tacho
