#include "spool/metric_settings.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "os/environment.h"

namespace tacho {
namespace {

constexpr std::string_view kOtlpPath = "/v1/metrics";
constexpr std::array<std::string_view, 16> kReservedHeaders{"accept-encoding",
                                                            "authorization",
                                                            "connection",
                                                            "content-encoding",
                                                            "content-length",
                                                            "content-type",
                                                            "expect",
                                                            "host",
                                                            "keep-alive",
                                                            "proxy-authorization",
                                                            "te",
                                                            "trailer",
                                                            "transfer-encoding",
                                                            "upgrade",
                                                            "user-agent",
                                                            "x-prometheus-remote-write-version"};

bool is_header_name(std::string_view name) {
  constexpr std::string_view kMore = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::all_of(name.begin(), name.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kMore.find(c) != std::string_view::npos;
  });
}

bool is_header_value(std::string_view value) {
  return std::all_of(value.begin(), value.end(),
                     [](char c) { return c == '\t' || (static_cast<unsigned char>(c) >= ' ' && c != 0x7f); });
}

}  // namespace

Result<HeaderLines> parse_header_lines(std::string_view text) {
  HeaderLines lines;
  for (const std::string_view pair : split(text, ',')) {
    if (trim(pair).empty()) continue;
    const size_t equals = pair.find('=');
    const std::string name(trim(pair.substr(0, equals)));
    const std::string value(equals == pair.npos ? "" : trim(pair.substr(equals + 1)));
    if (equals == pair.npos || !is_header_name(name) || !is_header_value(value))
      return Error{Code::invalid, "not a header", equals == pair.npos ? "" : name, "write NAME=VALUE,NAME=VALUE"};
    if (std::find(kReservedHeaders.begin(), kReservedHeaders.end(), lower(name)) != kReservedHeaders.end())
      return Error{Code::invalid, "the protocol has this header for itself", name,
                   "leave it out; for Authorization set the token, or user and password"};
    lines.emplace_back(name, value);
  }
  return lines;
}

std::string otlp_default_address() {
  if (std::string whole = environment("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"); !whole.empty()) return whole;
  std::string base = environment("OTEL_EXPORTER_OTLP_ENDPOINT");
  if (base.empty()) base = "http://localhost:4318";
  while (base.ends_with('/')) base.pop_back();
  return base + std::string(kOtlpPath);
}

}  // namespace tacho
