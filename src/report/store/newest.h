// The runs of a store, newest first, reading as few of them as will do: a store may hold a hundred thousand. A run's
// folder is changed when it starts and when it ends, so that no run began after its folder was changed last; where a
// folder contradicts that (set back by hand), all are read. Not thread-safe.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "report/store/store.h"

namespace tacho {

// Folders that cannot be read are skipped, with a warning if so wished.
enum class Unreadable { told, skipped };

class NewestRuns {
 public:
  // An error when there is a store that cannot be read; one that is not there has no runs.
  static Result<NewestRuns> open(const std::string& store_dir, Unreadable unreadable = Unreadable::skipped);
  // From now on only runs of this job name.
  void only_job(const std::string& name);
  // From now on only runs of this group (report/store/group.h).
  void only_group(const std::string& name);

  // Nothing when there are no more. Statistics are as run.json has them.
  std::optional<StoredRun> next();
  const std::vector<std::string>& names() const { return names_; }  // of all runs, the greatest first

 private:
  struct Entry {
    std::string name;
    int64_t changed_ns;
  };
  void read_next();
  bool may_be_wanted(const std::string& folder) const;

  std::string store_dir_;
  Unreadable unreadable_ = Unreadable::skipped;
  std::vector<std::string> names_;
  std::vector<Entry> unread_;    // the one that was changed last at the end
  std::vector<StoredRun> read_;  // and not handed out: a heap, the newest on top
  std::string needle_;           // a text that run.json of a wanted one has; empty: it must be read to tell
  std::function<bool(const Run&)> wanted_;
  bool read_all_ = false;
};

}  // namespace tacho
