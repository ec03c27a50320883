// The providers in the order of precedence: when two identify themselves, the first one here wins. Constant data.
#pragma once
#include <array>
#include <span>
#include <string_view>

#include "cloud/provider.h"

namespace tacho {

struct Vendor {
  std::string_view id;
  bool sent;                 // in Navigator's vendor table; the others are sent with TACHO_CLOUD_EXTRA=1 only
  const char* url_variable;  // replaces the bases
  FirstStep first;
  // Where its service is. The second one is tried when the first cannot be reached.
  std::string_view base;
  std::string_view second_base = {};
  std::string_view second_host = {};  // Host header there
};

std::span<const Vendor> all_vendors();
const Vendor* find_vendor(std::string_view id);

}  // namespace tacho
