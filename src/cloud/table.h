// The providers in the order of precedence: when two identify themselves, the first one here wins. Constant data.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "cloud/provider.h"

namespace tacho {

std::span<const Vendor> all_vendors();
const Vendor* find_vendor(std::string_view id);
// Those that the firmware names; one, as a rule. Pure.
std::vector<std::string_view> vendors_of(const Dmi& dmi);

}  // namespace tacho
