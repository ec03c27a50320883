#include "katib/event_rows.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>

#include "base/log.h"
#include "katib/event_number.h"
#include "os/file.h"

namespace tacho {
namespace {

constexpr int kDeepest = 64;

bool is_event_file(std::string_view name) {
  return name.find("tfevents") != std::string_view::npos && !name.ends_with(".profile-empty");
}

void find_in(const std::string& folder, int depth, std::vector<FoundFile>& files, std::vector<std::string>& folders) {
  std::vector<std::string> names, inner;
  if (!list_directory(folder, [&](std::string_view name) { names.emplace_back(name); })) return;
  folders.push_back(folder);
  std::sort(names.begin(), names.end());
  const std::string base = folder == "/" ? "/" : folder + "/";
  for (const std::string& name : names) {
    struct stat status {};
    std::string path = base + name;
    if (::lstat(path.c_str(), &status) != 0) continue;
    if (S_ISDIR(status.st_mode)) {
      inner.push_back(std::move(path));
      continue;
    }
    if (S_ISLNK(status.st_mode) && ::stat(path.c_str(), &status) != 0) continue;
    if (S_ISREG(status.st_mode) && is_event_file(name))
      files.push_back({std::move(path), folder, {status.st_dev, status.st_ino}, static_cast<uint64_t>(status.st_size)});
  }
  if (depth == kDeepest) {
    if (!inner.empty()) log::warn("folders deeper than 64 levels below the event files' folder are not read: " + folder);
    return;
  }
  for (const std::string& path : inner) find_in(path, depth + 1, files, folders);
}

}  // namespace

std::vector<FoundFile> find_event_files(const std::string& root, std::vector<std::string>& folders) {
  std::vector<FoundFile> files;
  find_in(root, 0, files, folders);
  return files;
}

void warn_of_broken(const std::string& path, const std::string& error) {
  log::warn(path + ": " + error + "; the rest of this file is not read (is the disk full, or was the file copied badly?)");
}

EventRows::EventRows(const ReaderOptions& options)
    : row_time_(options.row_time), values_(options.non_finite), arrival_(options.now_ns) {}

// Rounded to microseconds as the existing collector does, which then cuts to whole seconds.
std::string EventRows::time_of(const Event& event) {
  constexpr double kMost = 1e12;
  if (std::abs(event.wall_time) < kMost) {
    const double seconds = std::floor(event.wall_time);
    const double microseconds = std::nearbyint((event.wall_time - seconds) * 1e6);
    if (const auto time = utc_microseconds(static_cast<int64_t>(seconds), static_cast<int64_t>(microseconds) * 1000)) return *time;
  }
  return row_time_ == RowTime::arrival ? arrival_.next() : std::string(kZeroTime);
}

bool EventRows::pass_on(const std::string& metric, const Event& event, const SummaryValue& value, const Reader::Take& take) {
  text_.clear();
  if (value.kind == SummaryValue::Kind::simple) put_number(text_, static_cast<double>(value.simple));
  else if (value.kind != SummaryValue::Kind::tensor || !put_tensor_scalar(text_, value.tensor)) return false;
  const auto judged = values_.judge(metric, text_);
  if (!judged) return false;
  take({time_of(event), metric, std::string(*judged), event.step, {}});
  return true;
}

}  // namespace tacho
