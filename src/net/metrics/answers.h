// What the answer to a request of metrics means, by protocol. Pure; thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tacho {

enum class MetricProtocol { remote_write, otlp };

enum class MetricAnswer {
  delivered,
  refused,    // by the data: remote write looks for the culprits, OTLP gives the request up
  too_large,  // halved
  slow_down,  // again after Retry-After, else after a pause
  broken,     // the server's fault by its own word; remote write asks whether the data is the reason
  outage,     // repeated without limit
  settings,   // a setting is wrong, not the data: kept, and tried again every 5 minutes
};
// 0 stands for no answer.
MetricAnswer classify_metrics(MetricProtocol protocol, int status);

// What a 200 of OTLP says of points that it did not take. Nothing: all were taken.
struct PartialSuccess {
  int64_t rejected = 0;
  std::string message;
};
std::optional<PartialSuccess> parse_partial_success(std::string_view body, bool is_json);

// The words of a server for a person: one line of at most 200 bytes, without control characters.
std::string server_words(std::string_view body);

}  // namespace tacho
