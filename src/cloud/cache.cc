#include "cloud/cache.h"

#include <algorithm>
#include <array>

#include "base/json_bounds.h"
#include "cloud/values.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/owned_folder.h"

namespace tacho {
namespace {

struct CachedField {
  const char* name;  // on the wire
  Text Cloud::*member;
};
constexpr std::array<CachedField, 6> kFields{{{"cloud_vendor_id", &Cloud::vendor_id},
                                              {"cloud_account_id", &Cloud::account_id},
                                              {"cloud_region_id", &Cloud::region_id},
                                              {"cloud_zone_id", &Cloud::zone_id},
                                              {"cloud_instance_type", &Cloud::instance_type},
                                              {"host_id", &Cloud::instance_id}}};
constexpr size_t kLargest = 16 * 1024;
constexpr std::string_view kFolder = "tacho", kFile = "cloud.json";

}  // namespace

CloudCache::CloudCache(const Roots& roots, std::string key, std::vector<std::string> hidden)
    : boot_id_(read_first_line(roots.proc + "/sys/kernel/random/boot_id")),
      key_(std::move(key)),
      hidden_(std::move(hidden)) {
  const std::string runtime = environment_or("XDG_RUNTIME_DIR");
  if (runtime.starts_with('/') && !boot_id_.empty()) runtime_ = runtime;
}

bool CloudCache::is_hidden(std::string_view field) const {
  return std::find(hidden_.begin(), hidden_.end(), field) != hidden_.end();
}

std::optional<Cloud> CloudCache::load() const {
  if (runtime_.empty()) return std::nullopt;
  // After su the variable still names another user's folder.
  const auto runtime = OwnedFolder::open(runtime_);
  if (!runtime) return std::nullopt;
  const auto folder = runtime->open_folder(kFolder);
  if (!folder) return std::nullopt;
  const auto text = folder->read(kFile, kLargest);
  if (!text) return std::nullopt;
  const Json json = parse_bounded<Json>(*text);
  if (text_at(json, "boot_id") != boot_id_ || text_at(json, "asked") != key_) return std::nullopt;
  const Json left_out = json.value("left_out", Json::array());
  Cloud cloud;
  for (const CachedField& field : kFields) {
    const bool missing =
        left_out.is_array() && std::find(left_out.begin(), left_out.end(), Json(field.name)) != left_out.end();
    if (missing && !is_hidden(field.name)) return std::nullopt;
    cloud.*field.member = text_at(json, field.name);
  }
  // The vendor alone may be hidden; otherwise a cloud has one.
  if (!cloud.vendor_id && !is_hidden("cloud_vendor_id")) return std::nullopt;
  return cloud;
}

void CloudCache::store(const Cloud& cloud) const {
  if (runtime_.empty()) return;
  Json json{{"boot_id", boot_id_}, {"asked", key_}, {"left_out", Json::array()}};
  for (const CachedField& field : kFields) {
    if (is_hidden(field.name)) json["left_out"].push_back(field.name);
    else if (cloud.*field.member) json[field.name] = *(cloud.*field.member);
  }
  // A cache that cannot be written is none: the next run asks again.
  const auto runtime = OwnedFolder::open(runtime_);
  if (!runtime) return;
  auto folder = runtime->open_folder(kFolder);
  if (!folder) folder = runtime->make_folder(kFolder);
  if (!folder) return;
  const Status written = folder->write_atomically(kFile, json.dump(), false);
  static_cast<void>(static_cast<bool>(written));
}

}  // namespace tacho
