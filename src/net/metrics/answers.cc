#include "net/metrics/answers.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/json_bounds.h"
#include "base/text.h"

namespace tacho {
namespace {

constexpr size_t kMostWords = 200;
constexpr JsonBounds kPartialBounds{64u << 10, 16, 1000};

// A reader of the wire format that stops at the first byte that makes no sense.
class ProtoReader {
 public:
  explicit ProtoReader(std::string_view text) : rest_(text) {}

  // The next field; false at the end, or where it is torn.
  bool next() {
    uint64_t key = 0;
    if (rest_.empty() || !varint(key)) return false;
    field = key >> 3;
    bytes = {};
    number = 0;
    switch (key & 7) {
      case 0: return varint(number);
      case 1: return skip(8);
      case 2: {
        uint64_t size = 0;
        if (!varint(size) || size > rest_.size()) return false;
        bytes = rest_.substr(0, size);
        return skip(size);
      }
      case 5: return skip(4);
      default: return false;
    }
  }

  uint64_t field = 0, number = 0;
  std::string_view bytes;

 private:
  bool varint(uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) return false;
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool skip(size_t size) {
    if (size > rest_.size()) return false;
    rest_.remove_prefix(size);
    return true;
  }

  std::string_view rest_;
};

PartialSuccess partial_of_json(std::string_view body) {
  PartialSuccess found;
  const auto json = parse_bounded<nlohmann::ordered_json>(body, kPartialBounds);
  if (!json.is_object() || !json.contains("partialSuccess") || !json["partialSuccess"].is_object()) return found;
  const auto& partial = json["partialSuccess"];
  if (const auto count = partial.find("rejectedDataPoints"); count != partial.end()) {
    if (count->is_number_integer()) found.rejected = count->get<int64_t>();
    if (count->is_string()) found.rejected = parse_int<int64_t>(count->get<std::string>()).value_or(0);
  }
  if (const auto text = partial.find("errorMessage"); text != partial.end() && text->is_string())
    found.message = text->get<std::string>();
  return found;
}

PartialSuccess partial_of_proto(std::string_view body) {
  PartialSuccess found;
  for (ProtoReader outer(body); outer.next();) {
    if (outer.field != 1) continue;
    for (ProtoReader inner(outer.bytes); inner.next();) {
      if (inner.field == 1) found.rejected = static_cast<int64_t>(inner.number);
      if (inner.field == 2) found.message = inner.bytes;
    }
  }
  return found;
}

}  // namespace

MetricAnswer classify_metrics(MetricProtocol protocol, int status) {
  if (status >= 200 && status < 300) return MetricAnswer::delivered;
  switch (status) {
    case 0:
    case 408:
    case 425:
    case 502:
    case 503:
    case 504: return MetricAnswer::outage;
    case 413: return MetricAnswer::too_large;
    case 429: return MetricAnswer::slow_down;
    case 401:
    case 402:  // of the address, the account or the request's head: other samples would fare no better
    case 403:
    case 404:
    case 405:
    case 406:
    case 407:
    case 410:
    case 411:
    case 415:
    case 421:
    case 426:
    case 431:
    case 451:
    case 511: return MetricAnswer::settings;  // a network's own page: the receiver was not asked
    default: break;
  }
  if (status < 300) return MetricAnswer::outage;
  if (status < 400) return MetricAnswer::settings;
  if (status < 500) return MetricAnswer::refused;
  return protocol == MetricProtocol::otlp ? MetricAnswer::refused : MetricAnswer::broken;
}

std::optional<PartialSuccess> parse_partial_success(std::string_view body, bool is_json) {
  PartialSuccess found = is_json ? partial_of_json(body) : partial_of_proto(body);
  found.rejected = std::max<int64_t>(0, found.rejected);
  if (found.rejected == 0 && found.message.empty()) return std::nullopt;
  return found;
}

std::string server_words(std::string_view body) {
  const std::string text = harmless_text(valid_utf8(body.substr(0, 4 * kMostWords)));
  return std::string(start_of(trim(text), kMostWords));
}

}  // namespace tacho
