#include "deliver/named_runs.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/path.h"
#include "base/text.h"
#include "deliver/kinds.h"
#include "deliver/leftovers.h"
#include "os/file.h"

namespace tacho {
namespace {

// meta.json of a run, by what it must have; of anything else that is called so nothing is known.
bool is_meta(const Result<std::string>& text) {
  const auto meta = text ? parse_meta(*text) : Result<SpoolMeta>(text.error());
  return meta && kind_of(*meta) != nullptr;
}

// What the spool writes into the two: a process number, and lines of seals.
bool is_lock(const Result<std::string>& text) {
  return text &&
         (text->empty() || parse_int<pid_t>(trim(std::string_view(*text).substr(0, text->find('\n')))).has_value());
}
bool is_seals(const Result<std::string>& text) {
  return text && !text->empty() && parse_seal(std::string_view(*text).substr(0, text->find('\n'))).has_value();
}

// A file of that name alone does not make a folder a run's: meta.json, lock and 000001.csv are what many things are
// called.
bool is_run(const OwnedFolder& folder, std::string_view name) {
  const bool has_lock = is_lock(folder.read(kLockName, 1 << 12)), has_seals = is_seals(folder.read(kSealsName));
  if (is_meta(folder.read(kMetaName))) return has_lock || has_seals || is_run_name(name);
  if (!is_run_name(name)) return has_lock && has_seals;
  bool has_files = false;
  folder.list([&](std::string_view entry) { has_files = has_files || is_spool_file(entry); });
  return has_files;
}

// The run whose rows went to a folder of this name when its disk was full. It may be alive and writing there, whatever
// else lies in it.
std::string_view run_of_overflow(std::string_view name) {
  if (!name.ends_with(kOverflowEnding)) return {};
  name.remove_suffix(kOverflowEnding.size());
  return is_run_name(name) ? name : std::string_view();
}

// The runs of a folder that a person named: itself, or those in it where it is a spool. Nothing is changed.
Result<std::vector<std::string>> runs_of(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const std::string_view last = last_part(path);
  if (last == "." || last == "..")
    if (char* whole = ::realpath(path.c_str(), nullptr)) path = whole, ::free(whole);
  if (path.find('/') == std::string::npos) path.insert(0, "./");
  const auto folder = OwnedFolder::open(path);
  if (!folder) return folder.error();
  if (const std::string_view run = run_of_overflow(last_part(path)); !run.empty())
    return Error{
        Code::invalid, "this folder has some of the rows of a run that lies elsewhere, and was not touched", path,
        "tacho deliver " + std::string(run) + " sends them; if that run is lost, copy this folder under another name"};
  if (is_run(*folder, last_part(path))) return std::vector<std::string>{path};
  std::vector<std::string> runs, names;
  folder->list([&](std::string_view name) { names.emplace_back(name); });
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    if (!run_of_overflow(name).empty()) continue;
    const auto run = folder->open_folder(name);
    // One that is not ours is said later, by its name.
    if (run ? is_run(*run, name) : is_run_name(name) && run.error().code == Code::denied)
      runs.push_back(folder->path_of(name));
  }
  const std::vector<std::string> roots = spool_roots();
  if (!runs.empty() || std::find(roots.begin(), roots.end(), path) != roots.end()) return runs;
  return Error{Code::invalid, "this is neither the folder of a run nor a spool; nothing in it was touched", path,
               "tacho deliver --all sends all that is left in the spool"};
}

// The one run whose id has this part of 4 characters or more, or the name itself. tacho has made an id of what only its
// store can know (last, a job name).
Result<std::string> whole_id(const std::string& name) {
  std::set<std::string> ids;
  for (const std::string& folder : all_spooled()) {
    const SpoolRun run(folder);
    const auto text = run.meta();
    const auto meta = text ? parse_meta(*text) : Result<SpoolMeta>(text.error());
    if (run.name() == name || (meta && meta->run == name)) return name;
    if (meta && name.size() >= 4 && meta->run.find(name) != std::string::npos) ids.insert(meta->run);
  }
  if (ids.size() <= 1) return ids.empty() ? name : *ids.begin();
  std::string which;
  for (const std::string& id : ids) which += (which.empty() ? "" : ", ") + id;
  return Error{Code::invalid, "several runs fit", name, "which one: " + which + "?"};
}

bool is_folder(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// Runs in the spool that a bare word means: by their folder's name, by their id (`id`: the whole one), or by the
// service's.
std::vector<std::string> spooled_as(const std::string& name, const std::string& id) {
  std::vector<std::string> found;
  for (const std::string& folder : all_spooled()) {
    const SpoolRun run(folder);
    const auto text = run.meta(), state_text = run.state();
    const auto meta = text ? parse_meta(*text) : Result<SpoolMeta>(text.error());
    const auto state = state_text ? parse_spool_state(*state_text) : Result<SpoolState>(SpoolState{});
    if (run.name() == name || (meta && meta->run == id) || (state && state->run_id == name)) found.push_back(folder);
  }
  return found;
}

// A bare word that means runs of the spool and is a folder here, too: only the person knows which. All of an id means
// the run, unless that folder could be sent as well.
Status check_meaning(const std::string& name, const std::string& id, const std::vector<std::string>& runs) {
  if (!is_folder(name) || (runs.size() == 1 && same_file(runs[0], name))) return ok();
  const auto in_it = runs_of(name);
  if (name == id && (!in_it || in_it->empty())) return ok();
  return Error{Code::invalid, "both a run in the spool and a folder here are called so", name,
               "for the run write " + (name == id ? runs[0] : id) + ", for the folder ./" + name};
}

}  // namespace

Result<std::vector<std::string>> named_runs(std::span<const std::string> names) {
  std::vector<std::string> chosen;
  const auto add = [&](const std::vector<std::string>& runs) {
    for (const std::string& run : runs)
      if (std::find(chosen.begin(), chosen.end(), run) == chosen.end()) chosen.push_back(run);
  };
  for (const std::string& name : names) {
    if (name.find('/') == std::string::npos) {
      const auto id = whole_id(name);
      if (!id) return id.error();
      const std::vector<std::string> runs = spooled_as(name, *id);
      if (!runs.empty())
        if (const Status status = check_meaning(name, *id, runs); !status) return status.error();
      add(runs);
      if (!runs.empty()) continue;
    }
    if (!is_folder(name))
      return Error{Code::invalid, "there is no such run in the spool", name,
                   "it may be delivered already; tacho deliver --all sends all that is left"};
    const auto runs = runs_of(name);
    if (!runs) return runs.error();
    add(*runs);
  }
  return chosen;
}

}  // namespace tacho
