#include "report/store/store.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>

#include "base/log.h"
#include "base/path.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/owned_folder.h"
#include "os/user_folder.h"
#include "report/store/notes.h"
#include "report/store/run_names.h"
#include "report/store/run_reader.h"

namespace tacho {
namespace {

std::string shared_place() { return "/var/tmp/tacho-" + std::to_string(::geteuid()); }

Result<StoredRun> read_folder(const std::string& folder, bool refold) {
  Error error;
  // Two versions of run.json take turns: a reader that was slow enough to see one rewritten reads again.
  for (int attempt = 0; attempt < 3; ++attempt) {
    auto text = read_regular_file(folder + "/run.json");
    if (!text) return text.error();
    auto stored = parse_run_json(std::move(*text));
    if (stored) {
      stored->folder = folder;
      if (is_abandoned(*stored)) mark_interrupted(*stored, refold);
      add_notes(*stored);
      return stored;
    }
    error = stored.error();
  }
  return damaged_run(error, folder);
}

}  // namespace

std::string default_store_dir() {
  if (const std::string dir = environment_or("TACHO_STORE"); !dir.empty()) return dir;
  if (const std::string state = state_folder(); !state.empty()) return state + "/tacho/runs";
  return shared_place() + "/runs";
}

Status check_run_store(const std::string& store_dir) {
  if (store_dir != shared_place() + "/runs") return ok();
  const auto above = OwnedFolder::open(shared_place());
  if (!above) return above.error().code == Code::denied ? Status(above.error()) : ok();
  const auto store = above->open_folder("runs");
  return store || store.error().code != Code::denied ? ok() : Status(store.error());
}

Result<std::vector<std::string>> run_names(const std::string& store_dir) {
  std::vector<std::string> names;
  if (const Status ours = check_run_store(store_dir); !ours) return ours.error();
  errno = 0;
  const bool listed = list_directory(store_dir, [&](std::string_view name) {
    // Folders only; a run that is being made has no run.json yet and is not shown.
    if (!name.starts_with('.') && file_exists(store_dir + "/" + std::string(name) + "/run.json"))
      names.emplace_back(name);
  });
  if (!listed && file_exists(store_dir)) {
    Error error = system_error("cannot read the run store", store_dir, errno != 0 ? errno : EACCES);
    error.code = Code::denied;  // it is there: that there are no runs cannot be said
    if (error.hint.empty()) error.hint = "name another with --store DIR";
    return error;
  }
  std::sort(names.begin(), names.end(), std::greater<>());
  return names;
}

// Without looking into the folders: a store may have a hundred thousand of them.
std::string short_id_in(const std::string& store_dir, const std::string& id) {
  const std::string alike = shortest_unique({}, id);
  std::vector<std::string> names;
  if (!store_dir.empty())
    list_directory(store_dir, [&](std::string_view name) {
      if (name.starts_with(alike)) names.emplace_back(name);
    });
  std::sort(names.begin(), names.end(), std::greater<>());
  return shortest_unique(names, id);
}

Result<StoredRun> read_stored(const std::string& folder) { return read_folder(folder, false); }

void read_last_rows(StoredRun& stored) {
  if (stored.run.outcome.state != RunState::interrupted) return;
  auto whole = read_folder(stored.folder, true);
  if (!whole) return;
  whole->short_id = std::move(stored.short_id);
  stored = std::move(*whole);
}

Result<StoredRun> read_run(const std::string& folder) {
  auto stored = read_folder(folder, true);
  if (stored) stored->short_id = short_id_in(parent_folder(folder), stored->run.id);
  return stored;
}

}  // namespace tacho
