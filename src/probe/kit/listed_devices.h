// The devices that have columns in devices.csv, and where they are in a probe's table, which changes when a device
// comes or goes. Not thread-safe; allocates only where the table changed.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace tacho {

class ListedDevices {
 public:
  void clear() {
    listed_.clear();
    found_in_ = UINT64_MAX;
  }
  void add(std::string name) { listed_.push_back({std::move(name), SIZE_MAX}); }
  size_t size() const { return listed_.size(); }

  // changes: how often the entries were others; counts(entry): whether one is part of the machine's sums.
  template <class Entries, class Counts>
  void find(uint64_t changes, const Entries& entries, Counts&& counts) {
    if (found_in_ == changes) return;
    found_in_ = changes;
    for (Listed& listed : listed_) {
      const auto at = std::find_if(entries.begin(), entries.end(),
                                   [&](const auto& entry) { return counts(entry) && entry.name == listed.name; });
      listed.index = static_cast<size_t>(at - entries.begin());
    }
  }
  // The entry of the device of this number; null when it was taken away.
  template <class Entries>
  auto entry(size_t number, const Entries& entries) const {
    return listed_[number].index < entries.size() ? &entries[listed_[number].index] : nullptr;
  }

 private:
  struct Listed {
    std::string name;
    size_t index;  // of the table's entry; beyond its end: none
  };
  std::vector<Listed> listed_;
  uint64_t found_in_ = UINT64_MAX;
};

}  // namespace tacho
