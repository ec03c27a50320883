#include "spool/contract.h"

#include "os/environment.h"

namespace tacho {

std::string control::end_line(int64_t budget_ms) { return kEnd + std::to_string(budget_ms) + "\n"; }

std::string service_url() {
  std::string url = environment("SENTINEL_API_URL");
  if (url.empty()) url = "https://api.sentinel.sparecores.net";
  if (url.back() == '/') url.pop_back();
  return url;
}

}  // namespace tacho
