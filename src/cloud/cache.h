// What was found since this boot, so that the next run asks nobody: $XDG_RUNTIME_DIR/tacho/cloud.json, for the user
// alone. Without that folder nothing is cached. Thread-safe.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cloud/cloud.h"

namespace tacho {

class CloudCache {
 public:
  // `key` says what was asked: another question could have had another answer. `hidden` are wire names.
  CloudCache(const Roots& roots, std::string key, std::vector<std::string> hidden);

  // Nothing when the entry is of another boot or question, or lacks a field that was hidden then and is not now.
  std::optional<Cloud> load() const;
  void store(const Cloud& cloud) const;

 private:
  bool is_hidden(std::string_view field) const;

  std::string runtime_, boot_id_, key_;
  std::vector<std::string> hidden_;
};

}  // namespace tacho
