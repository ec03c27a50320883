#include "model/started_by.h"

#include "base/bytes.h"
#include "base/text.h"
#include "base/units.h"

namespace tacho {
namespace {

// "4", "0.5", or thousandths of a core, "1500m", as Kubernetes writes them.
std::optional<double> parse_cores(std::string_view text) {
  const bool thousandths = text.ends_with('m');
  const auto number = parse_double(thousandths ? text.substr(0, text.size() - 1) : text);
  if (!number || !(*number > 0) || *number > 1e9) return std::nullopt;
  return thousandths ? *number / 1000 : *number;
}

// What the downward API of Kubernetes says of a container that asks for nothing: "cpus=0m,memory=0".
bool is_nothing(std::string_view key, std::string_view value) {
  return (key == "cpus" && (value == "0m" || value == "0")) || (key == "memory" && value == "0");
}

bool set(RequestedSize& size, std::string_view key, std::string_view value) {
  if (is_nothing(key, value)) return true;
  if (key == "cpus") return (size.cpus = parse_cores(value)).has_value();
  if (key == "memory") return (size.memory_bytes = parse_bytes(value)).has_value();
  if (key == "gpus") return (size.gpus = parse_int<int64_t>(value)).has_value() && *size.gpus >= 0;
  const auto time = parse_duration_ns(value);
  if (time) size.time_s = static_cast<double>(*time) / static_cast<double>(kNsPerSec);
  return static_cast<bool>(time);
}

}  // namespace

Result<RequestedSize> parse_request(std::string_view text) {
  RequestedSize size;
  for (const std::string_view part : split(text, ',')) {
    const size_t equals = part.find('=');
    const std::string_view key = trim(part.substr(0, equals));
    const bool known = key == "cpus" || key == "memory" || key == "gpus" || key == "time";
    const std::string_view value = equals == part.npos ? std::string_view{} : trim(part.substr(equals + 1));
    if (!known || !set(size, key, value))
      return Error{Code::invalid, known ? "not a size" : "unknown size", std::string(part),
                   "write cpus=4,memory=8GiB,gpus=1,time=2h, or some of these"};
  }
  if (size.known()) size.source = "user";
  return size;
}

}  // namespace tacho
