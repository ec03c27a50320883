// What the injection puts into a pod, by name, and the small searches that its steps share. Pure.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "kube/api/object.h"

namespace tacho {

inline constexpr const char* kMetricsVolume = "metrics-volume";
inline constexpr const char* kSuggestionVolume = "suggestion-volume";
inline constexpr const char* kLauncherVolume = "tacho-bin";
inline constexpr const char* kLauncherFolder = "/tacho";
inline constexpr const char* kInstaller = "tacho-launcher";
inline constexpr const char* kFollower = "tacho-log";

std::string without_slash(std::string path);
// The container's mount at this path; nullptr when there is none.
const Json* mount_at(const Json& container, const std::string& path);
// The entry of a list (which may be missing) that has this name.
const Json* entry_named(const Json* list, const std::string& name);

}  // namespace tacho
