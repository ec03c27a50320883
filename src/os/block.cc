#include "os/block.h"

#include <algorithm>
#include <array>

#include "base/saturate.h"
#include "base/text.h"

namespace tacho {
namespace {

// A "/" in a device name (cciss/c0d0) is a "!" in sysfs.
std::string sysfs_name(std::string_view name) {
  std::string result(name);
  std::replace(result.begin(), result.end(), '/', '!');
  return result;
}

std::string block_path(const Roots& roots, std::string_view name) { return roots.sys + "/block/" + sysfs_name(name); }

bool has_entries(const std::string& path) {
  bool any = false;
  list_directory(path, [&](std::string_view) { any = true; });
  return any;
}

std::optional<int64_t> capacity_bytes(const std::string& path) {
  // Counted in 512-byte units, whatever the device's own sector size.
  const auto sectors = parse_int<int64_t>(read_first_line(path + "/size"));
  if (!sectors || *sectors <= 0) return std::nullopt;
  return saturating_multiply(*sectors, 512);
}

// SCSI keeps the serial number in a vital-product-data page: four bytes of header, then text.
std::string scsi_serial(const std::string& path) {
  const auto page = read_whole_file(path + "/device/vpd_pg80", 4096);
  if (!page || page->size() <= 4) return {};
  std::string text(trim(std::string_view(*page).substr(4)));
  const bool printable = std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
  return printable ? text : std::string();
}

std::string first_of(std::initializer_list<std::string> paths) {
  for (const std::string& path : paths)
    if (std::string text = read_first_line(path); !text.empty()) return text;
  return {};
}

}  // namespace

bool is_virtual_block_name(std::string_view name) {
  constexpr std::array<std::string_view, 7> kPrefixes = {"loop", "ram", "zram", "sr", "fd", "dm-", "md"};
  return std::any_of(kPrefixes.begin(), kPrefixes.end(), [&](std::string_view prefix) {
    if (!name.starts_with(prefix)) return false;
    const std::string_view rest = name.substr(prefix.size());
    // A named array is md_NAME; otherwise digits must follow, so that "mdraid" or "srv" is no hit.
    return (prefix == "md" && rest.starts_with('_')) || (!rest.empty() && rest[0] >= '0' && rest[0] <= '9');
  });
}

BlockRole block_role(const Roots& roots, std::string_view name) {
  const std::string path = block_path(roots, name);
  if (!file_exists(path)) {
    const bool partition = file_exists(roots.sys + "/class/block/" + sysfs_name(name) + "/partition");
    return partition ? BlockRole::partition : BlockRole::unknown;
  }
  if (is_virtual_block_name(name) || has_entries(path + "/slaves")) return BlockRole::whole;
  if (read_first_line(path + "/hidden") == "1") return BlockRole::whole;  // one of several paths to an NVMe disk
  return BlockRole::bottom;
}

BlockFacts block_facts(const Roots& roots, std::string_view name) {
  const std::string path = block_path(roots, name);
  BlockFacts facts;
  facts.model = valid_utf8(first_of({path + "/device/model", path + "/device/name"}));
  facts.vendor = valid_utf8(first_of({path + "/device/vendor", path + "/device/oemid"}));
  facts.serial = valid_utf8(first_of({path + "/device/serial", path + "/serial"}));
  if (facts.serial.empty()) facts.serial = scsi_serial(path);
  facts.capacity_bytes = capacity_bytes(path);
  const std::string rotational = read_first_line(path + "/queue/rotational");
  if (name.starts_with("nvme")) facts.type = "nvme";
  else if (rotational == "0") facts.type = "ssd";
  else if (rotational == "1") facts.type = "hdd";
  return facts;
}

bool is_partition_of(const Roots& roots, std::string_view disk, std::string_view partition) {
  // Every partition's name begins with its disk's; sysfs decides, as sdaa begins with sda too.
  return partition.size() > disk.size() && partition.starts_with(disk) &&
         file_exists(block_path(roots, disk) + "/" + sysfs_name(partition) + "/partition");
}

std::optional<int64_t> total_storage_bytes(const Roots& roots) {
  int64_t total = 0;
  list_directory(roots.sys + "/block", [&](std::string_view name) {
    if (block_role(roots, name) == BlockRole::bottom)
      total = saturating_add(total, capacity_bytes(block_path(roots, name)).value_or(0));
  });
  if (total == 0) return std::nullopt;
  return total;
}

}  // namespace tacho
