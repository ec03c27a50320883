#include "kube/webhook/pod_obstacles.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kube/webhook/pod_parts.h"

namespace tacho {
namespace {

constexpr size_t kAnnotationLimit = 256 * 1024;

bool is_true(const Json* value) { return value != nullptr && value->is_boolean() && value->get<bool>(); }

// A volume of that name is there, and it is none that could be shared.
bool is_taken(const Json& pod, const char* name) {
  const Json* volume = entry_named(find(pod, {"spec", "volumes"}), name);
  return volume != nullptr && find(*volume, {"emptyDir"}) == nullptr;
}

// Names are unique among all containers of a pod.
bool has_name(const Json& pod, const std::string& name) {
  return entry_named(find(pod, {"spec", "containers"}), name) != nullptr ||
         entry_named(find(pod, {"spec", "initContainers"}), name) != nullptr;
}

bool has_device_at(const Json& container, const std::string& path) {
  const Json* devices = find(container, {"volumeDevices"});
  return devices != nullptr && devices->is_array() &&
         std::any_of(devices->begin(), devices->end(),
                     [&](const Json& one) { return without_slash(text_at(one, {"devicePath"})) == path; });
}

// Some volumes can never be written to, whatever the mount says.
bool is_read_only(const Json& volume) {
  for (const char* source : {"configMap", "secret", "projected", "downwardAPI", "image"}) {
    if (find(volume, {source}) != nullptr) return true;
  }
  return std::any_of(volume.begin(), volume.end(),
                     [](const Json& source) { return source.is_object() && is_true(find(source, {"readOnly"})); });
}

// The volume that trainer and collector share.
std::string folder_obstacle(const Json& pod, const Json& container, const WantedParts& wanted) {
  const std::string& folder = wanted.folder;
  if (folder.empty()) return "";
  if (wanted.own_volume && is_taken(pod, kMetricsVolume)) return "the pod has another volume named metrics-volume";
  if (has_device_at(container, folder)) return "the container has a device at " + folder;
  const Json* shared = mount_at(container, folder);
  if (shared == nullptr) return "";
  if (!text_at(*shared, {"subPathExpr"}).empty())
    return "the mount at " + folder + " has a subPathExpr; write a subPath";
  const Json* volume = entry_named(find(pod, {"spec", "volumes"}), text_at(*shared, {"name"}));
  if (is_true(find(*shared, {"readOnly"})) || (volume != nullptr && is_read_only(*volume)))
    return "the mount at " + folder + " is read-only";
  return "";
}

std::string launcher_obstacle(const Json& pod, const Json& container, const std::string& folder) {
  if (is_taken(pod, kLauncherVolume)) return "the pod has another volume named tacho-bin";
  if (has_name(pod, kInstaller)) return "the pod has a container of its own named tacho-launcher";
  // Below it, too: the launcher's folder is read-only, and nothing can be mounted there.
  const auto at_launcher = [](const std::string& path) {
    return path == kLauncherFolder || path.starts_with(std::string(kLauncherFolder) + "/");
  };
  if (at_launcher(folder)) return "the collector's path lies in /tacho, where the launcher is";
  for (const auto& [list, path] : {std::pair{"volumeMounts", "mountPath"}, std::pair{"volumeDevices", "devicePath"}}) {
    const Json* entries = find(container, {list});
    if (entries == nullptr || !entries->is_array()) continue;
    for (const Json& one : *entries) {
      if (at_launcher(without_slash(text_at(one, {path}))) && text_at(one, {"name"}) != kLauncherVolume)
        return "the container mounts something of its own at /tacho";
    }
  }
  return "";
}

bool is_label(const std::string& text) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  return !text.empty() && text.size() <= 63 && text.front() != '-' && text.back() != '-' &&
         std::all_of(text.begin(), text.end(), fits);
}

// The container of a Custom collector is the user's, written into a Trial where nobody has looked at it.
// Katib's CRD takes any tree for the container: one that is no Container would be refused with the whole pod.
std::string shape_fault(const Json& custom) {
  const auto all = [&](const char* key, bool (Json::*fits)() const noexcept) {
    const Json* list = find(custom, {key});
    return list == nullptr || list->is_null() ||
           (list->is_array() &&
            std::all_of(list->begin(), list->end(), [&](const Json& one) { return (one.*fits)(); }));
  };
  for (const char* key : {"command", "args"}) {
    if (!all(key, &Json::is_string)) return std::string("the Custom collector's ") + key + " is no list of texts";
  }
  for (const char* key : {"env", "envFrom", "ports", "volumeMounts", "volumeDevices"}) {
    if (!all(key, &Json::is_object)) return std::string("the Custom collector's ") + key + " is no list of objects";
  }
  return "";
}

std::string custom_obstacle(const Json& pod, const Json& custom, const WantedParts& wanted) {
  const std::string name = text_at(custom, {"name"});
  if (!is_label(name)) return "the Custom collector's container has no name that Kubernetes takes";
  if (has_name(pod, name)) return "the pod has another container named as the Custom collector's";
  if (text_at(custom, {"image"}).empty()) return "the Custom collector's container has no image";
  if (std::string fault = shape_fault(custom); !fault.empty()) return fault;
  const Json* mounts = find(custom, {"volumeMounts"});
  if (mounts == nullptr || !mounts->is_array()) return "";
  for (const Json& mount : *mounts) {
    const std::string volume = text_at(mount, {"name"});
    const bool ours = wanted.own_volume && !wanted.folder.empty() && volume == kMetricsVolume;
    if (!ours && entry_named(find(pod, {"spec", "volumes"}), volume) == nullptr)
      return "the Custom collector mounts a volume that the pod does not have";
  }
  return "";
}

std::string machine_obstacle(const Json& pod) {
  if (is_true(find(pod, {"spec", "hostPID"}))) return "the pod uses hostPID, which excludes a shared process namespace";
  const auto windows = [&](std::initializer_list<std::string_view> where) { return text_at(pod, where) == "windows"; };
  if (windows({"spec", "os", "name"}) || windows({"spec", "nodeSelector", "kubernetes.io/os"}))
    return "the pod is for Windows";
  return "";
}

}  // namespace

bool has_room_for_annotations(const Json& pod, size_t more_bytes) {
  size_t bytes = more_bytes;
  if (const Json* there = find(pod, {"metadata", "annotations"}); there != nullptr && there->is_object()) {
    for (const auto& [key, value] : there->items())
      bytes += key.size() + (value.is_string() ? value.get_ref<const std::string&>().size() : 0);
  }
  return bytes <= kAnnotationLimit;
}

std::string pod_obstacle(const Json& pod, const Json& container, const TrialFacts& trial, const WantedParts& wanted) {
  if (std::string what = machine_obstacle(pod); !what.empty()) return what;
  if (std::string what = folder_obstacle(pod, container, wanted); !what.empty()) return what;
  if (wanted.follower && has_name(pod, kFollower)) return "the pod has a container of its own named tacho-log";
  if (!has_room_for_annotations(pod, wanted.annotation_bytes))
    return "the pod's annotations leave no room for one more";
  if (trial.custom && trial.kind->source == CollectorKind::Source::container)
    return custom_obstacle(pod, *trial.custom, wanted);
  return wanted.launcher ? launcher_obstacle(pod, container, wanted.folder) : "";
}

}  // namespace tacho
