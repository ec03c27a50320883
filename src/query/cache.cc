#include "query/cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/units.h"
#include "os/clock.h"
#include "os/user_folder.h"
#include "query/refresh.h"
#include "query/samples.h"
#include "query/schema.h"

namespace tacho {
namespace {

constexpr int64_t kLeftOverNs = 3600 * kNsPerSec;

// What queries that were killed while they made one have left.
void remove_left_over(const OwnedFolder& folder, std::string_view name) {
  std::vector<std::string> old;
  folder.list([&](std::string_view entry) {
    struct stat info {};
    if (without_temporary_ending(entry) != name) return;
    if (::fstatat(folder.fd(), std::string(entry).c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return;
    if (system_clock().realtime_ns() - info.st_mtim.tv_sec * kNsPerSec > kLeftOverNs) old.emplace_back(entry);
  });
  for (const std::string& entry : old) folder.remove_file(entry);
}

}  // namespace

QueryCache::~QueryCache() {
  wait_for_keeper();
  if (!new_name_.empty()) folder_.remove_file(new_name_);
}

Status QueryCache::open_folder() {
  const std::string caches = cache_folder();
  if (caches.empty()) return Error{Code::not_available, "there is no folder for a cache", "", "set XDG_CACHE_HOME"};
  auto folder = OwnedFolder::make(caches + "/tacho");
  if (!folder) return folder.error();
  folder_ = std::move(*folder);
  name_ = "query-" + std::to_string(kSchemaVersion) + ".db";
  for (const std::string& file : {name_, name_ + "-journal"})  // SQLite opens that one, too
    if (folder_.has_entry(file) && !folder_.has_file(file))
      return Error{Code::denied, "this is not a file of ours", folder_.path_of(file), "remove it"};
  return ok();
}

// The tables have columns that are functions: these come first.
Result<Database> QueryCache::open_database(const std::string& path) const {
  auto database = Database::open(path, SQLITE_OPEN_READWRITE | (path.empty() ? SQLITE_OPEN_CREATE : 0));
  if (!database) return database;
  add_run_functions(*database, functions_);
  if (const Status made = add_samples(*database, functions_.store_dir); !made) return made.error();
  return database;
}

// Nobody else knows it, and nothing is lost with it: no journal.
Status QueryCache::begin_anew(const std::string& path) {
  auto database = open_database(path);
  if (!database) return database.error();
  database->execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF");
  if (const Status made = make_tables(*database, functions_.store_dir); !made) return made;
  database_ = std::move(*database);
  is_new_ = true;
  return ok();
}

Status QueryCache::open() {
  if (const Status status = open_folder(); !status) return status;
  if (folder_.has_file(name_)) {
    auto database = open_database(folder_.path_of(name_));
    if (database && has_tables(*database, functions_.store_dir)) {
      database->execute("PRAGMA synchronous = NORMAL");  // a power cut may take the last update, not the file
      database_ = std::move(*database);
      return ok();
    }
  }
  return open_anew();
}

Status QueryCache::open_anew() {
  wait_for_keeper();
  if (!folder_)
    if (const Status status = open_folder(); !status) return status;
  remove_left_over(folder_, name_);
  new_name_ = temporary_name(name_);
  const auto file = folder_.open_file(new_name_, O_RDWR | O_CREAT | O_EXCL);
  if (!file) return file.error();
  return begin_anew(folder_.path_of(new_name_));
}

Status QueryCache::open_unkept() { return begin_anew(""); }

// The file goes to the disk before its name: a power cut leaves the old one or a whole one.
void QueryCache::keep() {
  if (new_name_.empty() || keeper_.joinable()) return;
  keeper_ = std::thread([this] {
    if (const auto file = folder_.open_file(new_name_, O_RDONLY)) ::fdatasync(file->get());
    if (folder_.rename_file(new_name_, name_)) new_name_.clear();
  });
}

void QueryCache::wait_for_keeper() {
  if (keeper_.joinable()) keeper_.join();
}

void QueryCache::discard() {
  wait_for_keeper();
  database_ = {};
  if (folder_) folder_.remove_file(name_);
}

}  // namespace tacho
