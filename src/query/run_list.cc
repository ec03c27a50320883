#include "query/run_list.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "os/file.h"
#include "os/timespec.h"
#include "report/store/store.h"

namespace tacho {
namespace {

// Fills in what the files say; a folder without a run keeps size −1.
void look_at(int store, std::span<ListedRun> runs) {
  for (ListedRun& run : runs) {
    struct stat info {};
    run.stamp.size = -1;
    if (::fstatat(store, (run.name + "/run.json").c_str(), &info, 0) != 0 || !S_ISREG(info.st_mode)) continue;
    run.stamp.size = info.st_size;
    run.stamp.changed_ns = as_ns(info.st_mtim);
  }
}

}  // namespace

bool is_run_name(std::string_view name) {
  return !name.empty() && name.front() != '.' && name.size() < 256 &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
}

Result<std::vector<ListedRun>> list_run_files(const std::string& store_dir, bool stamped) {
  if (const Status ours = check_run_store(store_dir); !ours) return ours.error();
  std::vector<ListedRun> runs;
  const Fd store(::open(store_dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const int reason = errno;
  if (!store && (reason == ENOENT || reason == ENOTDIR) && !file_exists(store_dir)) return runs;
  const bool listed = store && list_directory(store_dir, [&](std::string_view name) {
                        if (is_run_name(name)) runs.push_back({std::string(name)});
                      });
  if (!listed) return Error{Code::denied, "cannot read the run store", store_dir, "name another with --store DIR"};
  // A hundred thousand of them take a quarter of a second: half of it at a time.
  constexpr size_t kFew = 5000;
  if (stamped) {
    const auto half = std::span(runs).subspan(0, runs.size() > kFew ? runs.size() / 2 : 0);
    std::thread other([&] { look_at(store.get(), half); });
    look_at(store.get(), std::span(runs).subspan(half.size()));
    other.join();
    std::erase_if(runs, [](const ListedRun& run) { return run.stamp.size < 0; });
  }
  std::sort(runs.begin(), runs.end(), [](const ListedRun& a, const ListedRun& b) { return a.name < b.name; });
  return runs;
}

}  // namespace tacho
