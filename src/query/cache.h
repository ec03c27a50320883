// Where the tables are kept from one query to the next: $XDG_CACHE_HOME/tacho/query-N.db, in a folder of ours alone,
// for one store at a time. A file that is damaged, or no database of ours, is made anew beside it and takes its place
// at once, so that two queries on a cold cache do not meet; what is not a plain file of ours is left alone.
#pragma once
#include <string>
#include <thread>

#include "os/owned_folder.h"
#include "query/database.h"
#include "query/run_functions.h"

namespace tacho {

class QueryCache {
 public:
  explicit QueryCache(std::string store_dir) : functions_{std::move(store_dir)} {}
  ~QueryCache();

  // The one that is kept, else a new one (is_new()) that keep() puts in its place.
  Status open();
  // Anew, although there is one.
  Status open_anew();
  // Not kept at all.
  Status open_unkept();
  const Database& database() const { return database_; }
  bool is_new() const { return is_new_; }
  void answer(bool now) { functions_.answer = now; }  // of a run's own files, while a query runs
  // Once it is filled: it goes to the disk, and then takes its place, while the query is answered.
  void keep();
  void discard();  // it turned out to be damaged

 private:
  Status open_folder();
  Result<Database> open_database(const std::string& path) const;
  Status begin_anew(const std::string& path);
  void wait_for_keeper();

  RunFunctions functions_;
  std::string name_, new_name_;
  OwnedFolder folder_;
  Database database_;
  bool is_new_ = false;
  std::thread keeper_;
};

}  // namespace tacho
