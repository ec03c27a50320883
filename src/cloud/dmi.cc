#include "cloud/dmi.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace tacho {
namespace {

// `name` as the first word of `text`, in any case.
bool begins_with_word(std::string_view text, std::string_view name) {
  const std::string word = lower(text);
  if (!word.starts_with(name)) return false;
  if (word.size() == name.size()) return true;
  const char next = word[name.size()];
  return !((next >= 'a' && next <= 'z') || (next >= '0' && next <= '9'));
}

}  // namespace

Dmi Dmi::read(const Roots& roots) {
  const auto line = [&](const char* name) { return read_first_line(roots.sys + "/class/dmi/id/" + name); };
  return {line("sys_vendor"),        line("product_name"), line("bios_version"),
          line("chassis_asset_tag"), line("product_uuid"), read_first_line(roots.sys + "/hypervisor/uuid")};
}

bool is_own_machine(const Dmi& dmi) {
  constexpr auto kMakers = std::to_array<std::string_view>(
      {"dell", "hp", "hpe", "hewlett", "lenovo", "supermicro", "super micro", "fujitsu", "asus", "asustek", "gigabyte",
       "giga-byte", "vmware", "innotek", "virtualbox", "parallels", "apple"});
  const auto names = [&](const std::string& text) {
    return std::any_of(kMakers.begin(), kMakers.end(),
                       [&](std::string_view maker) { return begins_with_word(text, maker); });
  };
  return names(dmi.sys_vendor) || begins_with_word(dmi.product_name, "virtualbox");
}

}  // namespace tacho
