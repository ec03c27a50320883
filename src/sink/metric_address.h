// What -o prometheus+https://…, otlp+https://… and otlp: mean. Reads TACHO_ALLOW_HTTP and OTEL_EXPORTER_OTLP_*.
// Thread-safe (no state).
#pragma once
#include <string>

#include "base/result.h"

namespace tacho {

struct MetricAddress {
  std::string url;          // as it is sent to, without the options
  bool otlp = false;        // or remote write
  bool with_run_id = true;  // #run_id=0
  bool system = false;      // #system=1
  bool json = false;        // #encoding=json
  bool gzip = true;         // #gzip=0
};
// An Error (of exit 125) for an option that is not known, a password in the address, or plain http to another machine.
Result<MetricAddress> parse_metric_address(const std::string& destination);

}  // namespace tacho
