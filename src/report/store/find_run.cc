#include <sys/stat.h>

#include <algorithm>

#include "base/text.h"
#include "os/file.h"
#include "report/store/newest.h"
#include "report/store/run_names.h"
#include "report/store/store.h"

namespace tacho {
namespace {

constexpr size_t kListed = 12;

Error no_such_run(const std::string& store_dir, const std::string& name, const std::vector<std::string>& names) {
  if (names.empty())
    return {Code::gone, "there is no run in the store yet", store_dir, "record one: tacho run -- COMMAND"};
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string_view near = nearest(name, candidates);
  std::string hint = near.empty() ? "tacho runs lists all, such as " + shortest_unique(names, names[0])
                                  : "did you mean " + std::string(near) + "?";
  if (name.size() < kShortestPart) hint = "a part of an id has 4 characters or more; " + hint;
  return {Code::gone, "there is no such run", name, hint};
}

// The n-th newest, of a job name when there is one.
Result<StoredRun> newest(const std::string& store_dir, const std::string& name, size_t n,
                         const std::optional<std::string>& job = std::nullopt) {
  auto runs = NewestRuns::open(store_dir);
  if (!runs) return runs.error();
  if (runs->names().empty()) return no_such_run(store_dir, name, {});
  if (job) runs->only_job(*job);
  size_t seen = 0;
  while (const auto stored = runs->next())
    if (seen++ == n) return read_run(stored->folder);
  return Error{Code::gone, "there is no such run", name,
               seen > 0 ? "there are only " + std::to_string(seen)
                        : "tacho runs lists all, such as " + shortest_unique(runs->names(), runs->names().front())};
}

// last, last~3, last:train. Nothing for any other word.
std::optional<Result<StoredRun>> by_age(const std::string& store_dir, const std::string& name) {
  if (!name.starts_with("last")) return std::nullopt;
  const std::string rest = name.substr(4);
  if (rest.empty()) return newest(store_dir, name, 0);
  if (rest[0] == ':') return newest(store_dir, name, 0, rest.substr(1));
  if (rest[0] != '~') return std::nullopt;
  const auto before = parse_int<int64_t>(rest.substr(1));
  if (!before || *before < 0)
    return Result<StoredRun>(
        Error{Code::invalid, "no number of runs", name, "write last~1 for the one before the last"});
  return newest(store_dir, name, static_cast<size_t>(*before));
}

bool is_same_folder(const std::string& a, const std::string& b) {
  struct stat first {
  }, second{};
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

// A file that is no record, or the name of one that is to be written: what to do with it instead.
std::optional<Error> other_file(const std::string& name) {
  const std::string low = lower(name);
  const auto ends = [&](std::initializer_list<std::string_view> endings) {
    return std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) { return low.ends_with(ending); });
  };
  const std::string stem = name.substr(0, name.rfind('.'));
  if (ends({".html", ".htm", ".pdf", ".png", ".svg"}))
    return Error{
        Code::invalid, "this is the name of a page, not a run", name,
        "write tacho report last -o " + stem + ".html" + (ends({".pdf"}) ? "; a browser prints it as PDF" : "")};
  if (ends({".jsonl", ".jsonl.gz", ".json.gz", ".parquet", ".tsv", ".xlsx"}) ||
      (ends({".json"}) && !ends({"run.json"})))
    return Error{
        Code::invalid, "rows are read from CSV only", name,
        "record with tacho run -o " + stem + ".csv -- CMD, or name the run that it is of; tacho runs lists all"};
  if (ends({".csv", ".csv.gz"}))
    return Error{Code::gone, "there is no such file", name, "tacho runs lists the runs that can be named instead"};
  return std::nullopt;
}

struct Fit {
  std::string folder, words;  // words: for a list of several
};

// Where nothing of that path is there: jobs are called so, too (team/train, report.html).
Result<StoredRun> job_or(const std::string& store_dir, const std::string& name, const Error& error) {
  auto of_job = newest(store_dir, name, 0, name);
  return of_job ? std::move(of_job) : Result<StoredRun>(error);
}

Result<StoredRun> by_path(const std::string& store_dir, const std::string& name) {
  std::string folder = name;
  if (folder.ends_with("/run.json")) folder.resize(folder.size() - 9);
  else if (folder.ends_with('/')) folder.pop_back();
  auto stored = read_run(folder);
  return stored || file_exists(folder) ? std::move(stored) : job_or(store_dir, name, stored.error());
}

}  // namespace

Result<StoredRun> find_run(const std::string& store_dir, const std::string& name) {
  if (name.empty()) return Error{Code::invalid, "a run needs a name", "", "an id from tacho runs, or last"};
  if (const auto found = by_age(store_dir, name)) return *found;
  if (auto error = other_file(name); error && !file_exists(store_dir + "/" + name + "/run.json"))
    return job_or(store_dir, name, *error);
  if (name.find('/') != std::string::npos) return by_path(store_dir, name);
  const std::string of_id = store_dir + "/" + name;
  if (file_exists(of_id + "/run.json")) {
    if (const Status ours = check_run_store(store_dir); !ours) return ours.error();
    if (!file_exists(name + "/run.json") || is_same_folder(of_id, name)) return read_run(of_id);
    return Error{Code::invalid, "both a run in the store and a folder here are called so", name,
                 "which one: " + of_id + " or ./" + name + "?"};
  }
  const auto listed = run_names(store_dir);
  if (!listed) return listed.error();
  const std::vector<std::string>& names = *listed;

  std::vector<Fit> fits;
  const auto add = [&](const std::string& folder, const std::string& words) {
    const bool is_known =
        std::any_of(fits.begin(), fits.end(), [&](const Fit& fit) { return is_same_folder(fit.folder, folder); });
    if (!is_known) fits.push_back({folder, words});
  };
  for (const std::string& id : names)
    if (is_part_of(name, id)) add(store_dir + "/" + id, shortest_unique(names, id));
  // What looks like an id is one: no need to look into every run for a job of that name.
  if (fits.empty() || !is_id_form(name))
    if (const auto of_job = newest(store_dir, name, 0, name))
      add(of_job->folder, "last:" + name + " (the newest of that job name)");
  // A run folder in the working directory.
  if (file_exists(name + "/run.json")) add(name, "./" + name);
  if (name == "run.json" && file_exists(name)) add(".", "./run.json");
  if (fits.size() == 1) return read_run(fits[0].folder);
  if (fits.empty()) return no_such_run(store_dir, name, names);
  std::string which;
  for (size_t i = 0; i < fits.size() && i < kListed; ++i) which += (i == 0 ? "" : ", ") + fits[i].words;
  if (fits.size() > kListed) which += " and " + std::to_string(fits.size() - kListed) + " more";
  return Error{Code::invalid, "several runs fit", name, "which one: " + which + "?"};
}

Result<StoredRun> run_before(const std::string& store_dir, const StoredRun& stored) {
  auto runs = NewestRuns::open(store_dir);
  if (!runs) return runs.error();
  const std::string& job = stored.run.metadata.job_name;
  if (!job.empty()) runs->only_job(job);
  bool passed = false;
  while (const auto other = runs->next()) {
    const bool is_of_job = job.empty() ? other->run.command == stored.run.command && !other->run.command.empty() &&
                                             other->run.metadata.job_name.empty()
                                       : other->run.metadata.job_name == job;
    if (passed && is_of_job) return read_run(other->folder);
    passed = passed || other->run.id == stored.run.id;
  }
  return Error{Code::gone, "there is no run of the same job before this one", stored.shown_id(),
               "name two: tacho compare A B; a job has a name by tacho run --job-name NAME"};
}

}  // namespace tacho
