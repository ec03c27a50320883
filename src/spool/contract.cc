#include "spool/contract.h"

#include <cstdlib>

#include "base/text.h"

namespace tacho {

std::string control::end_line(int64_t budget_ms) { return kEnd + std::to_string(budget_ms) + "\n"; }

std::string service_url() {
  const char* value = std::getenv("SENTINEL_API_URL");
  std::string url(trim(value != nullptr ? value : ""));
  if (url.empty()) url = "https://api.sentinel.sparecores.net";
  if (url.back() == '/') url.pop_back();
  return url;
}

}  // namespace tacho
