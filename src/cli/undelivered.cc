#include "cli/undelivered.h"

#include <nlohmann/json.hpp>

#include "os/owned_folder.h"
#include "spool/contract.h"
#include "spool/layout.h"

namespace tacho {
namespace {

constexpr size_t kLargestMeta = size_t{4} << 20;

void read_description(const std::string& text, std::set<std::string>& found) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return;
  for (const std::string_view key : {meta::kRun, meta::kStoreFolder})
    if (const auto value = json.find(key); value != json.end() && value->is_string())
      found.insert(value->get<std::string>());
}

}  // namespace

std::set<std::string> undelivered_runs() {
  std::set<std::string> found;
  for (const std::string& path : spool_roots()) {
    const auto root = OwnedFolder::open(path);
    if (!root) continue;
    root->list([&](std::string_view name) {
      if (!is_run_name(name)) return;
      const auto run = root->open_folder(name);
      if (!run) return;
      if (const auto text = run->read(kMetaName, kLargestMeta)) read_description(*text, found);
    });
  }
  return found;
}

}  // namespace tacho
