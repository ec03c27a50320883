#include "sink/metric_address.h"

#include <algorithm>

#include "base/text.h"
#include "os/environment.h"
#include "spool/metric_settings.h"

namespace tacho {
namespace {

constexpr std::string_view kPrometheusPrefix = "prometheus+", kOtlpPrefix = "otlp+", kOtlpDefault = "otlp:";

Error bad_address(const char* what, const std::string& address, const char* hint) {
  // Everything behind the path may be a secret.
  return {Code::invalid, what, address.substr(0, address.find_first_of("?#@")), hint};
}

bool is_this_machine(std::string_view host) {
  if (host == "localhost" || host.ends_with(".localhost") || host == "[::1]") return true;
  return host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string_view::npos;
}

Status read_metric_options(std::string_view text, MetricAddress& address) {
  for (const std::string_view pair : split(text, '&')) {
    if (pair.empty()) continue;
    const size_t equals = pair.find('=');
    const std::string_view name = pair.substr(0, equals);
    const std::string_view value = equals == pair.npos ? std::string_view{} : pair.substr(equals + 1);
    const bool known = !value.empty() && parse_bool(value).has_value();
    const bool yes = known && parse_bool(value).value_or(false);
    if (name == "system" && known) address.system = yes;
    else if (name == "run_id" && known && !address.otlp) address.with_run_id = yes;
    else if (name == "gzip" && known && address.otlp) address.gzip = yes;
    else if (name == "encoding" && address.otlp && (value == "json" || value == "protobuf"))
      address.json = value == "json";
    else
      return Error{Code::invalid, "this option of the output is not known", std::string(pair.substr(0, 64)),
                   address.otlp ? "system=1, encoding=json, gzip=0" : "system=1, run_id=0"};
  }
  return ok();
}

// Of "https://host:port/path?query"; the scheme is lower case already.
Status check_address(const std::string& url) {
  const bool plain = url.starts_with("http://");
  if (!plain && !url.starts_with("https://"))
    return bad_address("this is no http or https address", url, "write https://HOST/PATH");
  if (std::any_of(url.begin(), url.end(), [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f; }))
    return Error{Code::invalid, "an address has no blanks or control characters", "", "write it as https://HOST/PATH"};
  const std::string rest = url.substr(plain ? 7 : 8);
  std::string authority = rest.substr(0, rest.find_first_of("/?"));
  // The message is for logs: of the address only what is behind them.
  if (const size_t at = authority.rfind('@'); at != std::string::npos)
    return bad_address("an address with a user name or password in it is refused", authority.substr(at + 1),
                       "leave it out; set TACHO_PROMETHEUS_USER and TACHO_PROMETHEUS_PASSWORD, or headers");
  const size_t colon = authority.rfind(':');
  if (colon != std::string::npos && authority.find(']', colon) == std::string::npos) {
    const auto port = parse_int<int>(std::string_view(authority).substr(colon + 1));
    if (!port || *port < 1 || *port > 65535) return bad_address("this address has no port", url, "a port is a number");
    authority.resize(colon);
  }
  if (authority.empty()) return bad_address("this address names no host", url, "write https://HOST/PATH");
  if (!plain || is_this_machine(lower(authority)) || environment_on("TACHO_ALLOW_HTTP")) return ok();
  return bad_address("plain http goes to this machine only, because secrets would travel in the clear", url,
                     "use https, or set TACHO_ALLOW_HTTP=1 if that is really meant");
}

}  // namespace

Result<MetricAddress> parse_metric_address(const std::string& destination) {
  MetricAddress address;
  const size_t hash = std::min(destination.find('#'), destination.size());
  std::string place = destination.substr(0, hash);
  const std::string low = lower(place.substr(0, kPrometheusPrefix.size()));
  address.otlp = low.starts_with("otlp");
  const bool by_variable = address.otlp && low.starts_with(kOtlpDefault);
  if (by_variable) {
    if (place.size() > kOtlpDefault.size())
      return bad_address("otlp: takes its address from OTEL_EXPORTER_OTLP_ENDPOINT", place, "write otlp+https://HOST");
    place = otlp_default_address();
  } else {
    place.erase(0, (address.otlp ? kOtlpPrefix : kPrometheusPrefix).size());
  }
  if (hash < destination.size())
    if (const Status read = read_metric_options(std::string_view(destination).substr(hash + 1), address); !read)
      return read.error();
  const size_t scheme_end = std::min(place.find("://"), place.size());
  place.replace(0, scheme_end, lower(place.substr(0, scheme_end)));
  if (const Status good = check_address(place); !good) return good.error();
  const size_t path = place.find_first_of("/?", scheme_end + 3);
  const bool has_path = path != std::string::npos && place[path] == '/' && place.size() > path + 1;
  if (address.otlp && !by_variable && !has_path) {
    const std::string query = path == std::string::npos ? "" : place.substr(path + (place[path] == '/' ? 1 : 0));
    place = place.substr(0, path) + "/v1/metrics" + query;
  }
  address.url = std::move(place);
  return address;
}

}  // namespace tacho
