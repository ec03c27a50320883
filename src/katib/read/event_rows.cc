#include "katib/read/event_rows.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>

#include "base/log.h"
#include "katib/read/event_number.h"
#include "os/file.h"

namespace tacho {
namespace {

constexpr int kDeepestFolder = 64;

bool is_event_file(std::string_view name) {
  return name.find("tfevents") != std::string_view::npos && !name.ends_with(".profile-empty");
}

constexpr size_t kMostFolders = 4'096, kMostEntries = 100'000;

class Walk {
 public:
  Walk(std::vector<FoundFile>& files, std::vector<std::string>& folders, FolderTrouble& trouble)
      : files_(files), folders_(folders), trouble_(trouble) {}

  void enter(const std::string& folder, int depth) {
    std::vector<std::string> names, inner;
    size_t entries = 0;
    const bool listed = list_directory(folder, [&](std::string_view name) {
      // What cannot be an event file may be a folder; there may be very many of it.
      if (!is_event_file(name) && ++entries > kMostEntries) return;
      if (names.size() < kMostEntries + kMostEventFiles) names.emplace_back(name);
    });
    if (!listed) {
      note_failure();
      return;
    }
    if (entries > kMostEntries) log::warn("more than 100000 entries: not all folders in it are entered: " + folder);
    folders_.push_back(folder);
    std::sort(names.begin(), names.end());
    const std::string base = folder == "/" ? "/" : folder + "/";
    for (const std::string& name : names) look_at(base + name, folder, is_event_file(name), inner);
    if (depth == kDeepestFolder) {
      if (!inner.empty())
        log::warn("folders deeper than 64 levels below the event files' folder are not read: " + folder);
      return;
    }
    for (const std::string& path : inner) {
      if (folders_.size() >= kMostFolders)
        return log::warn("more than 4096 folders below the event files' folder: the rest is not read");
      enter(path, depth + 1);
    }
  }

 private:
  void note_failure() {
    if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENAMETOOLONG) return;
    trouble_ = std::max(trouble_, errno == EACCES || errno == EPERM ? FolderTrouble::closed : FolderTrouble::passing);
  }

  void look_at(std::string path, const std::string& folder, bool may_be_file, std::vector<std::string>& inner) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) return note_failure();
    if (S_ISDIR(status.st_mode)) return inner.push_back(std::move(path));
    if (!may_be_file) return;
    if (S_ISLNK(status.st_mode) && ::stat(path.c_str(), &status) != 0) return note_failure();
    if (!S_ISREG(status.st_mode)) return;
    if (files_.size() >= kMostEventFiles) return log::warn("more than 20000 event files: the rest is not read");
    files_.push_back({std::move(path), folder, {status.st_dev, status.st_ino}, static_cast<uint64_t>(status.st_size)});
  }

  std::vector<FoundFile>& files_;
  std::vector<std::string>& folders_;
  FolderTrouble& trouble_;
};

}  // namespace

std::vector<FoundFile> find_event_files(const std::string& root, std::vector<std::string>& folders,
                                        FolderTrouble& trouble) {
  std::vector<FoundFile> files;
  Walk(files, folders, trouble).enter(root, 0);
  return files;
}

void warn_of_broken(const std::string& path, const std::string& error) {
  log::warn(path + ": " + error +
            "; the rest of this file is not read (is the disk full, or was the file copied badly?)");
}

EventRows::EventRows(const ReaderOptions& options)
    : row_time_(options.row_time), values_(options.non_finite), arrival_(options.now_ns) {}

// Rounded to microseconds as the existing collector does, which then cuts to whole seconds.
TimeStamp EventRows::time_of(const Event& event) {
  constexpr double kMost = 1e12;
  if (std::abs(event.wall_time) < kMost) {
    const double seconds = std::floor(event.wall_time);
    const double microseconds = std::nearbyint((event.wall_time - seconds) * 1e6);
    if (const auto time = utc_microseconds(static_cast<int64_t>(seconds), static_cast<int64_t>(microseconds) * 1000))
      return *time;
  }
  return row_time_ == RowTime::arrival ? arrival_.next() : zero_time();
}

bool EventRows::pass_on(const std::string& metric, const Event& event, const SummaryValue& value,
                        const Reader::Take& take) {
  text_.clear();
  if (value.kind == SummaryValue::Kind::simple) put_number(text_, static_cast<double>(value.simple));
  else if (value.kind != SummaryValue::Kind::tensor || !put_tensor_scalar(text_, value.tensor)) return false;
  const auto judged = values_.judge(metric, text_);
  if (!judged) return false;
  take({time_of(event), metric, *judged, event.step});
  return true;
}

}  // namespace tacho
