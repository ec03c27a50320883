#include "cli/undelivered.h"

#include <algorithm>

#include "os/owned_folder.h"
#include "spool/layout.h"

namespace tacho {
namespace {

constexpr size_t kLargestMeta = size_t{4} << 20;

}  // namespace

UndeliveredRuns::UndeliveredRuns() {
  for (const std::string& path : spool_roots()) {
    const auto root = OwnedFolder::open(path);
    if (!root) continue;
    root->list([&](std::string_view name) {
      if (!is_run_name(name)) return;
      const auto run = root->open_folder(name);
      if (!run) return;
      if (auto text = run->read(kMetaName, kLargestMeta)) descriptions_.push_back(std::move(*text));
    });
  }
}

bool UndeliveredRuns::has(const std::string& id) const {
  return std::any_of(descriptions_.begin(), descriptions_.end(),
                     [&](const std::string& text) { return text.find(id) != std::string::npos; });
}

}  // namespace tacho
