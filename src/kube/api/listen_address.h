// Where a server of tacho-kube listens, as its flags say it. Pure, thread-safe.
#pragma once
#include <cstdint>
#include <string>

#include "base/result.h"

namespace tacho {

// "10.0.0.1:8080" or ":8080"; "0" and "" switch it off (port 0 with an empty address).
struct ListenAddress {
  std::string address;
  uint16_t port = 0;
  bool on = false;
};
Result<ListenAddress> parse_listen(const std::string& text);

}  // namespace tacho
