#include "report/store.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/log.h"
#include "base/text.h"
#include "os/file.h"
#include "os/line_file.h"
#include "os/owned_folder.h"
#include "report/run_reader.h"

namespace tacho {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string shared_place() { return "/var/tmp/tacho-" + std::to_string(::geteuid()); }

// A run whose tacho died still says that it is running. The lock on its rows tells, else its process id does.
bool is_abandoned(const StoredRun& stored) {
  if (stored.run.outcome.state != RunState::running) return false;
  const LockState lock = probe_lock(stored.folder + "/metrics.csv");
  if (lock != LockState::unknown) return lock == LockState::free;
  return stored.run.tracker_pid <= 0 || !file_exists("/proc/" + std::to_string(stored.run.tracker_pid));
}

Result<StoredRun> read_folder(const std::string& folder, bool refold) {
  Error error;
  // Two versions of run.json take turns: a reader that was slow enough to see one rewritten reads again.
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto text = read_whole_file(folder + "/run.json");
    if (!text) return text.error();
    auto stored = parse_run_json(*text);
    if (stored) {
      stored->folder = folder;
      if (is_abandoned(*stored)) mark_interrupted(*stored, refold);
      return stored;
    }
    error = stored.error();
  }
  error.path = folder + "/run.json";
  error.hint = "its samples can still be read: tacho report " + folder + "/metrics.csv";
  return error;
}

bool is_newer(const StoredRun& a, const StoredRun& b) {
  const int64_t a_ns = a.run.outcome.started_realtime_ns, b_ns = b.run.outcome.started_realtime_ns;
  return a_ns != b_ns ? a_ns > b_ns : a.run.id > b.run.id;
}

std::vector<std::string> run_names(const std::string& store_dir) {
  std::vector<std::string> names;
  if (const Status ours = check_run_store(store_dir); !ours) {
    log::warn(ours.error());
    return names;
  }
  list_directory(store_dir, [&](std::string_view name) {
    // Folders only; a run that is being made has no run.json yet and is not shown.
    if (!name.starts_with('.') && file_exists(store_dir + "/" + std::string(name) + "/run.json")) names.emplace_back(name);
  });
  std::sort(names.begin(), names.end(), std::greater<>());
  return names;
}

std::string in_words(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < 5; ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > 5 ? text + " …" : text;
}

Error no_such_run(const std::string& store_dir, const std::string& name, const std::vector<std::string>& names) {
  if (names.empty())
    return {Code::invalid, "there is no run in the store yet", store_dir, "record one: tacho run -- COMMAND"};
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string_view near = nearest(name, candidates);
  return {Code::invalid, "there is no such run", name,
          near.empty() ? "tacho runs lists all, such as " + names[0] : "did you mean " + std::string(near) + "?"};
}

}  // namespace

std::string default_store_dir() {
  if (const std::string dir = environment("TACHO_STORE"); !dir.empty()) return dir;
  // The XDG base directory specification: a relative path is to be ignored.
  if (const std::string state = environment("XDG_STATE_HOME"); state.starts_with('/')) return state + "/tacho/runs";
  if (const std::string home = environment("HOME"); home.starts_with('/') && home != "/nonexistent")
    return home + "/.local/state/tacho/runs";
  return shared_place() + "/runs";
}

Status check_run_store(const std::string& store_dir) {
  if (store_dir != shared_place() + "/runs") return ok();
  const auto above = OwnedFolder::open(shared_place());
  if (!above) return above.error().code == Code::denied ? Status(above.error()) : ok();
  const auto store = above->open_folder("runs");
  return store || store.error().code != Code::denied ? ok() : Status(store.error());
}

Result<std::vector<StoredRun>> list_runs(const std::string& store_dir) {
  std::vector<StoredRun> runs;
  for (const std::string& name : run_names(store_dir)) {
    auto stored = read_folder(store_dir + "/" + name, false);
    if (stored)
      runs.push_back(std::move(*stored));
    else
      log::warn(stored.error());
  }
  std::stable_sort(runs.begin(), runs.end(), is_newer);
  return runs;
}

Result<StoredRun> find_run(const std::string& store_dir, const std::string& name) {
  if (name.empty()) return Error{Code::invalid, "a run needs a name", "", "an id from tacho runs, or last"};
  if (name == "last") {
    auto runs = list_runs(store_dir);
    if (!runs) return runs.error();
    if (runs->empty()) return no_such_run(store_dir, name, {});
    return read_folder(runs->front().folder, true);
  }
  if (name.find('/') != std::string::npos) {
    if (name.ends_with("/run.json")) return read_folder(name.substr(0, name.size() - 9), true);
    return read_folder(name.ends_with('/') ? name.substr(0, name.size() - 1) : name, true);
  }
  std::vector<std::string> matches;
  const std::vector<std::string> names = run_names(store_dir);
  for (const std::string& candidate : names) {
    if (candidate == name) return read_folder(store_dir + "/" + candidate, true);
    // The digits behind the date are enough too.
    if (candidate.starts_with(name) || candidate.ends_with("-" + name)) matches.push_back(candidate);
  }
  if (matches.size() == 1) return read_folder(store_dir + "/" + matches[0], true);
  if (matches.size() > 1)
    return Error{Code::invalid, "several runs begin like that", name, "which one: " + in_words(matches) + "?"};
  // A run folder in the working directory.
  if (file_exists(name + "/run.json")) return read_folder(name, true);
  if (name == "run.json" && file_exists(name)) return read_folder(".", true);
  return no_such_run(store_dir, name, names);
}

}  // namespace tacho
