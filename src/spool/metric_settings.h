// What is said about the receivers of metrics outside of the address: headers by variables. Both halves read it, the
// sink to refuse what is wrong, the delivery to send. Thread-safe (no state).
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tacho {

using HeaderLines = std::vector<std::pair<std::string, std::string>>;

// "K=V,K=V"; an Error names a line that is none, or a name that the protocol has for itself. Values are not in it.
Result<HeaderLines> parse_header_lines(std::string_view text);

// The address that `otlp:` means: OTEL_EXPORTER_OTLP_METRICS_ENDPOINT, else OTEL_EXPORTER_OTLP_ENDPOINT with
// /v1/metrics, else this machine's collector.
std::string otlp_default_address();

}  // namespace tacho
