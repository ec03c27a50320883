#include "report/store/removal.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <array>

#include "base/path.h"
#include "os/file.h"
#include "os/line_file.h"
#include "os/owned_folder.h"
#include "report/store/notes.h"

namespace tacho {
namespace {

constexpr auto kRunFiles = std::to_array<std::string_view>(
    {"run.json", "metrics.csv", "processes.csv", "devices.csv", "marks.csv", kNotesName});

struct Opened {
  OwnedFolder store, run;
  std::string name;
};

Result<Opened> open_both(const std::string& store_dir, const StoredRun& stored) {
  const std::string name(last_part(stored.folder));
  auto store = OwnedFolder::open(store_dir);
  if (!store) return store.error();
  auto run = store->open_folder(name);
  if (!run) return run.error();
  return Opened{std::move(*store), std::move(*run), name};
}

// run.json last: a removal that breaks off leaves a run that can be removed again.
std::vector<std::string> names_in(const OwnedFolder& folder) {
  std::vector<std::string> names;
  folder.list([&](std::string_view name) { names.emplace_back(name); });
  std::sort(names.begin(), names.end());
  std::stable_partition(names.begin(), names.end(), [](const std::string& name) { return name != "run.json"; });
  return names;
}

}  // namespace

bool is_run_file(std::string_view name) {
  if (std::find(kRunFiles.begin(), kRunFiles.end(), name) != kRunFiles.end()) return true;
  if (name == ".run.json.next") return true;
  std::string_view whole = without_temporary_ending(name);
  if (whole.starts_with('.')) whole.remove_prefix(1);
  return std::find(kRunFiles.begin(), kRunFiles.end(), whole) != kRunFiles.end();
}

std::string reason_to_keep(const std::string& store_dir, const StoredRun& stored) {
  if (probe_lock(stored.folder + "/metrics.csv") == LockState::held || stored.run.outcome.state == RunState::running)
    return "it goes on";
  if (last_part(stored.folder) != stored.run.id) return "its folder is not named by its id: somebody copied it";
  if (!same_file(parent_folder(stored.folder), store_dir)) return "it is not in the store " + store_dir;
  const auto opened = open_both(store_dir, stored);
  return opened ? "" : opened.error().message();
}

Result<Removed> weigh_run(const std::string& store_dir, const StoredRun& stored) {
  const auto opened = open_both(store_dir, stored);
  if (!opened) return opened.error();
  Removed removed;
  for (const std::string& name : names_in(opened->run)) {
    if (is_run_file(name) && opened->run.has_file(name)) removed.bytes += opened->run.file_bytes(name);
    else removed.left.push_back(name);
  }
  return removed;
}

Result<Removed> remove_run(const std::string& store_dir, const StoredRun& stored) {
  auto opened = open_both(store_dir, stored);
  if (!opened) return opened.error();
  const OwnedFolder& run = opened->run;
  // Its tacho holds this lock as long as it lives. We hold it meanwhile, so that nobody takes the run for a live one.
  const auto rows = run.open_file("metrics.csv", O_RDONLY);
  if (rows && ::flock(rows->get(), LOCK_EX | LOCK_NB) != 0)
    return Error{Code::invalid, "this run goes on", stored.folder, "it can be removed when it has ended"};
  Removed removed;
  for (const std::string& name : names_in(run)) {
    const int64_t bytes = run.file_bytes(name);
    const bool ours = is_run_file(name) && run.has_file(name);
    if (ours && run.remove_file(name)) removed.bytes += bytes;
    else removed.left.push_back(name);
  }
  if (removed.left.empty() && opened->store.holds(opened->name, run) && !opened->store.remove_folder(opened->name))
    removed.left.emplace_back(".");
  return removed;
}

}  // namespace tacho
