#include "deliver/metric_access.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/base64.h"
#include "base/text.h"
#include "os/environment.h"
#include "os/file.h"
#include "spool/contract.h"
#include "spool/metric_settings.h"

namespace tacho {
namespace {

constexpr size_t kLargestCertificate = 1 << 20;

// Two addresses of one server: scheme, host and port.
std::string origin_of(const std::string& url) {
  const auto parts = parse_url(url);
  return parts ? parts->scheme + "://" + parts->host + ":" + std::to_string(parts->port) : std::string();
}

// The addresses in TACHO_OUTPUT, in front of which stands how they are spoken to.
void add_outputs(std::string_view prefix, std::vector<std::string>& places) {
  const std::string text = environment("TACHO_OUTPUT");
  for (const std::string_view word : split(text, ','))
    if (const std::string_view place = trim(word); place.starts_with(prefix))
      places.emplace_back(place.substr(prefix.size(), place.find('#') - prefix.size()));
}

std::vector<std::string> own_addresses(bool otlp) {
  std::vector<std::string> places;
  add_outputs(otlp ? "otlp+" : "prometheus+", places);
  if (std::string url = environment(otlp ? "TACHO_OTLP_URL" : "TACHO_PROMETHEUS_URL"); !url.empty())
    places.push_back(std::move(url));
  if (otlp) places.push_back(otlp_default_address());
  return places;
}

std::string otlp_header_text() {
  std::string text = environment("OTEL_EXPORTER_OTLP_METRICS_HEADERS");
  return text.empty() ? environment("OTEL_EXPORTER_OTLP_HEADERS") : text;
}

bool has_credentials(bool otlp) {
  if (otlp) return !otlp_header_text().empty();
  return std::any_of(kMetricSecrets.begin(), kMetricSecrets.end(),
                     [](const char* name) { return !environment(name).empty(); });
}

bool fits_a_header(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != 0x7f; });
}

// What says where the body ends and what it is cannot be somebody else's word.
bool frames_the_request(const std::string& name) {
  constexpr std::array kFraming{
      "connection", "content-encoding", "content-length", "content-type", "expect", "host", "transfer-encoding",
      "te",         "trailer",          "upgrade"};
  return std::find(kFraming.begin(), kFraming.end(), lower(name)) != kFraming.end();
}

Result<Headers> otlp_headers() {
  Headers headers;
  const std::string text = otlp_header_text();
  for (const std::string_view pair : split(text, ',')) {
    if (trim(pair).empty()) continue;
    const size_t equals = pair.find('=');
    const std::string name(trim(pair.substr(0, equals)));
    const std::string value = equals == pair.npos ? "" : percent_decode(std::string(trim(pair.substr(equals + 1))));
    const bool word = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    });
    if (equals == pair.npos || !word || !fits_a_header(value) || frames_the_request(name))
      return Error{Code::invalid, "OTEL_EXPORTER_OTLP_HEADERS holds what is no header", "", "write name=value,…"};
    headers.emplace_back(name, value);
  }
  return headers;
}

}  // namespace

Result<Headers> metric_credentials(bool otlp) {
  if (otlp) return otlp_headers();
  Headers headers;
  const auto more = parse_header_lines(environment_or("TACHO_PROMETHEUS_HEADERS"));
  if (!more) return more.error();
  headers.insert(headers.end(), more->begin(), more->end());
  const std::string token = environment("TACHO_PROMETHEUS_TOKEN"), user = environment("TACHO_PROMETHEUS_USER");
  const std::string password = environment_or("TACHO_PROMETHEUS_PASSWORD");
  if (!fits_a_header(token))
    return Error{Code::invalid, "TACHO_PROMETHEUS_TOKEN holds what no token has", "", "set it right"};
  if (!token.empty()) headers.emplace_back("Authorization", "Bearer " + token);
  else if (!user.empty() || !password.empty())
    headers.emplace_back("Authorization", "Basic " + base64(user + ":" + password));
  return headers;
}

void hide_metric_secrets() {
  for (const char* name : kMetricSecrets) {
    const std::string value(environment_in_place(name));
    wipe_environment(name);
    if (!value.empty()) ::setenv(name, value.c_str(), 1);
  }
}

Result<std::string> otlp_certificate() {
  std::string path = environment_or("OTEL_EXPORTER_OTLP_METRICS_CERTIFICATE");
  if (path.empty()) path = environment_or("OTEL_EXPORTER_OTLP_CERTIFICATE");
  return path.empty() ? Result<std::string>("") : read_whole_file(path, kLargestCertificate);
}

bool may_send_to(const std::string& url, bool otlp, std::span<const std::string> places) {
  if (!has_credentials(otlp)) return true;
  const std::string origin = origin_of(url);
  const auto fits = [&](const std::string& place) { return !origin.empty() && origin_of(place) == origin; };
  if (std::any_of(places.begin(), places.end(), fits)) return true;
  const std::vector<std::string> own = own_addresses(otlp);
  return std::any_of(own.begin(), own.end(), fits);
}

std::string metrics_are_elsewhere(const SpoolMeta& meta) {
  const bool otlp = meta.kind == kOtlpKind;
  if (may_send_to(meta.api_url, otlp, {})) return {};
  const auto parts = parse_url(meta.api_url);
  return (parts ? valid_utf8(parts->place()) : std::string("no address")) +
         ", to which the credentials here do not go, and is left alone (" +
         (otlp ? "OTEL_EXPORTER_OTLP_ENDPOINT or TACHO_OTLP_URL" : "TACHO_PROMETHEUS_URL") + " says where they go)";
}

}  // namespace tacho
