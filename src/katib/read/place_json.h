// A place in a file as JSON, for the state file. Included only where JSON is used.
#pragma once
#include <nlohmann/json.hpp>

#include "katib/read/growing_file.h"

namespace tacho {

inline nlohmann::json place_to_json(const GrowingFile::Place& place) {
  return {{"device", place.file.device},
          {"inode", place.file.inode},
          {"offset", place.offset},
          {"before", {place.before_size, place.before_crc}}};
}

// Throws nlohmann::json::exception when it is none.
inline GrowingFile::Place place_from_json(const nlohmann::json& json) {
  GrowingFile::Place place;
  place.file = {json.at("device").get<uint64_t>(), json.at("inode").get<uint64_t>()};
  place.offset = json.at("offset").get<uint64_t>();
  place.before_size = json.at("before").at(0).get<uint64_t>();
  place.before_crc = json.at("before").at(1).get<uint32_t>();
  return place;
}

}  // namespace tacho
