// What the firmware says about the maker of this machine: /sys/class/dmi/id/* and /sys/hypervisor/uuid. Absent on many
// arm64 boards, in micro-VMs and in containers; product_uuid is for root only. Thread-safe.
#pragma once
#include <string>

#include "os/file.h"

namespace tacho {

struct Dmi {
  std::string sys_vendor, product_name, bios_version, chassis_asset_tag, product_uuid, hypervisor_uuid;
  static Dmi read(const Roots& roots);
};

// A maker of hardware or of a desktop hypervisor: no metadata service here. Pure.
bool is_own_machine(const Dmi& dmi);

}  // namespace tacho
