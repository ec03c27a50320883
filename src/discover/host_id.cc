#include "discover/host_id.h"

#include <algorithm>
#include <array>

#include "base/hmac.h"
#include "base/log.h"
#include "base/text.h"
#include "discover/host.h"
#include "os/environment.h"
#include "procfs/mountinfo.h"

namespace tacho {
namespace {

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

// "i-0123456789abcdef0": an EC2 instance writes its id where others have an inventory tag.
bool is_instance_id(std::string_view text) {
  if (!text.starts_with("i-")) return false;
  text.remove_prefix(2);
  return text.size() >= 8 && std::all_of(text.begin(), text.end(), is_hex);
}

std::string dmi(const Roots& roots, const char* name) {
  std::string text = valid_utf8(read_first_line(roots.sys + "/class/dmi/id/" + name));
  return is_dmi_placeholder(text) ? std::string() : text;
}

// Is there a mount of its own at one of these paths, or anything but an image's layers at the root?
struct Layers {
  bool image_root = false;
  bool machine_id_mounted = false;
};

Layers look_at_layers(const Roots& roots) {
  Layers layers;
  const auto text = read_whole_file(roots.proc + "/self/mountinfo");
  if (!text) return layers;
  MountInfoLines lines(*text);
  for (MountLine line; lines.next(line);) {
    if (line.mount_point == "/")
      layers.image_root = line.type == "overlay" || line.type == "aufs" || line.type == "fuse.fuse-overlayfs";
    if (line.mount_point == "/etc/machine-id" || line.mount_point == "/etc" ||
        line.mount_point == "/var/lib/dbus/machine-id")
      layers.machine_id_mounted = true;
  }
  return layers;
}

}  // namespace

std::optional<std::string> machine_id(const Roots& roots) {
  // In a container the file came with the image, the same for all who use it, unless it was mounted from outside.
  if (in_container(roots) && !look_at_layers(roots).machine_id_mounted) return std::nullopt;
  for (const char* path : {"/machine-id", "/../var/lib/dbus/machine-id"}) {
    std::string text = read_first_line(roots.etc + path);
    if (!text.empty() && text != "uninitialized" && !is_dmi_placeholder(text)) return text;
  }
  return std::nullopt;
}

bool in_container(const Roots& roots) {
  for (const char* path : {"/../.dockerenv", "/../run/.containerenv", "/../run/systemd/container"})
    if (file_exists(roots.etc + path)) return true;
  constexpr std::array<std::string_view, 5> kMarks = {"docker", "kubepods", "libpod", "lxc", "containerd"};
  const auto cgroup = read_whole_file(roots.proc + "/1/cgroup", 1 << 16);
  const bool marked = cgroup && std::any_of(kMarks.begin(), kMarks.end(), [&](std::string_view mark) {
                        return cgroup->find(mark) != std::string::npos;
                      });
  return marked || look_at_layers(roots).image_root;
}

std::optional<std::string> local_host_id(const Roots& roots) {
  // Serial number and UUID are for root's eyes; when they cannot be read the next source has its turn.
  if (std::string tag = dmi(roots, "board_asset_tag"); is_instance_id(tag)) return tag;
  for (const char* name : {"product_serial", "product_uuid"})
    if (std::string text = dmi(roots, name); !text.empty()) return text;
  return machine_id(roots);
}

bool host_id_is_hashed() {
  const std::string mode = environment("TACHO_HOST_ID");
  if (mode.empty()) return false;
  if (lower(mode) != "hash")
    log::warn("TACHO_HOST_ID knows the word hash only, and is taken for it; to name an id use TACHO_HOST_ID_VALUE");
  return true;
}

std::optional<std::string> hashed_host_id(const Roots& roots) {
  const auto key = machine_id(roots);
  if (!key) return std::nullopt;
  return hmac_sha256_hex(*key, "tacho host id").substr(0, 32);
}

}  // namespace tacho
