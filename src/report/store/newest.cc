#include "report/store/newest.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/log.h"
#include "base/time_text.h"
#include "base/units.h"
#include "os/file.h"
#include "os/timespec.h"
#include "report/store/run_names.h"

namespace tacho {
namespace {

// The clock of file systems lags a little behind, and some count whole seconds.
constexpr int64_t kLagNs = 2 * kNsPerSec;

int64_t changed_ns(const std::string& folder) {
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0) return 0;
  return as_ns(info.st_mtim);
}

bool is_older(const StoredRun& a, const StoredRun& b) {
  const int64_t a_ns = a.run.outcome.started_realtime_ns, b_ns = b.run.outcome.started_realtime_ns;
  return a_ns != b_ns ? a_ns < b_ns : a.run.id < b.run.id;
}

// Midnight of the day that the id names; 0 for ids of another form.
int64_t day_of_ns(const std::string& id) {
  const auto seconds = parse_compact_utc(id.substr(0, 8) + "T000000Z");
  return seconds.value_or(0) * kNsPerSec;
}

// Written in run.json as it is.
bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return c >= ' ' && c < 0x7F && c != '"' && c != '\\' && c != '/'; });
}

}  // namespace

Result<NewestRuns> NewestRuns::open(const std::string& store_dir, Unreadable unreadable) {
  auto names = run_names(store_dir);
  if (!names) return names.error();
  NewestRuns runs;
  runs.store_dir_ = store_dir;
  runs.unreadable_ = unreadable;
  runs.names_ = std::move(*names);
  for (const std::string& name : runs.names_) {
    runs.unread_.push_back({name, changed_ns(store_dir + "/" + name)});
    if (day_of_ns(name) > runs.unread_.back().changed_ns + kLagNs) runs.read_all_ = true;
  }
  std::stable_sort(runs.unread_.begin(), runs.unread_.end(),
                   [](const Entry& a, const Entry& b) { return a.changed_ns < b.changed_ns; });
  return runs;
}

// Looks at the bytes alone, which costs a tenth of reading what they mean.
bool NewestRuns::may_be_wanted(const std::string& folder) const {
  if (needle_.empty()) return true;
  const auto text = read_regular_file(folder + "/run.json");
  return !text || text->find(needle_) != std::string::npos;
}

void NewestRuns::only_job(const std::string& name) {
  needle_ = is_plain(name) ? '"' + name + '"' : "";
  wanted_ = [name](const Run& run) { return run.metadata.job_name == name; };
}

void NewestRuns::only_group(const std::string& name) {
  // The id, which the scheduler's name is before and ".r1" may be behind.
  const size_t colon = name.find(':'), dot = name.rfind(".r");
  const std::string id = name.substr(colon + 1, dot == name.npos || dot < colon ? name.npos : dot - colon - 1);
  needle_ = is_plain(id) ? '"' + id : "";
  wanted_ = [name](const Run& run) { return group_name(run.started_by.job) == name; };
}

void NewestRuns::read_next() {
  const Entry entry = std::move(unread_.back());
  unread_.pop_back();
  const std::string folder = store_dir_ + "/" + entry.name;
  if (!may_be_wanted(folder)) return;
  auto stored = read_stored(folder);
  if (stored && wanted_ && !wanted_(stored->run)) return;
  if (!stored) {
    if (unreadable_ == Unreadable::told) log::warn(stored.error());
    return;
  }
  if (stored->run.outcome.started_realtime_ns > entry.changed_ns + kLagNs) read_all_ = true;
  stored->short_id = shortest_unique(names_, stored->run.id);
  read_.push_back(std::move(*stored));
  std::push_heap(read_.begin(), read_.end(), is_older);
}

std::optional<StoredRun> NewestRuns::next() {
  while (!unread_.empty() && (read_all_ || read_.empty() ||
                              unread_.back().changed_ns + kLagNs >= read_.front().run.outcome.started_realtime_ns))
    read_next();
  if (read_.empty()) return std::nullopt;
  std::pop_heap(read_.begin(), read_.end(), is_older);
  StoredRun newest = std::move(read_.back());
  read_.pop_back();
  return newest;
}

}  // namespace tacho
