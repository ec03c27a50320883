// Block devices as /sys/block shows them: which ones are bottom-level disks, whose bytes count once, and what they are
// called. The disk probe and the host's storage size share these rules. Reads files; allocates; thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "os/file.h"

namespace tacho {

enum class BlockRole {
  bottom,     // a whole device that stands on no other: its bytes count
  whole,      // a whole device that is made of others, or no disk (dm, md, bcache, loop, ram, NVMe path …)
  partition,  // part of a whole device
  unknown,    // not in /sys/block: there is no /sys, or the device just went
};

// By sysfs alone, never by the look of a partition's name.
BlockRole block_role(const Roots& roots, std::string_view name);

// Names whose devices never are disks, whatever sysfs says: loop, ram, zram, sr, fd, dm-, md with a number behind.
bool is_virtual_block_name(std::string_view name);

struct BlockFacts {
  std::string model, vendor, serial;
  std::string type;                       // "nvme", "ssd", "hdd"; empty when not told
  std::optional<int64_t> capacity_bytes;  // nothing when unknown or 0
};
BlockFacts block_facts(const Roots& roots, std::string_view name);

// Is `partition` a part of the whole device `disk`?
bool is_partition_of(const Roots& roots, std::string_view disk, std::string_view partition);

// Size of all bottom-level disks together; nothing when there is none or no /sys/block.
std::optional<int64_t> total_storage_bytes(const Roots& roots);

}  // namespace tacho
