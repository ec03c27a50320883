#include "sink/marks_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/writer.h"
#include "codec/csv.h"
#include "codec/csv_text.h"
#include "os/file.h"
#include "os/owned_folder.h"

namespace tacho {
namespace {

// One write: what the disk did not take whole is cut off by nobody, but its reader knows a torn line.
Status write_line(const Fd& file, std::string_view line, const std::string& path) {
  ssize_t done = 0;
  do { done = ::write(file.get(), line.data(), line.size()); } while (done < 0 && errno == EINTR);
  if (done == static_cast<ssize_t>(line.size())) return ok();
  return system_error("cannot write", path, done < 0 ? errno : ENOSPC);
}

}  // namespace

Status make_marks_file(const std::string& folder) {
  const auto owned = OwnedFolder::open(folder);
  if (!owned) return owned.error();
  const auto file = owned->open_file(kMarksFileName, O_WRONLY | O_CREAT | O_EXCL | O_APPEND);
  if (!file) return file.error();
  return write_line(*file, std::string(kMarksHeader) + "\n", owned->path_of(kMarksFileName));
}

Status append_mark(const std::string& folder, MarkEvent event, std::string_view name, int64_t realtime_ns) {
  // A slash at its end would have a link followed.
  std::string_view path = folder;
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const auto owned = OwnedFolder::open(std::string(path));
  if (!owned) return owned.error();
  if (!owned->has_file("run.json"))
    return Error{Code::invalid, "this is no run folder of ours", folder, "TACHO_RUN is set by tacho run"};
  const auto file = owned->open_file(kMarksFileName, O_WRONLY | O_APPEND);
  if (!file) return file.error();
  Writer line;
  put_unix_seconds(line, realtime_ns);
  line.put(',');
  line.put(event_word(event));
  line.put(',');
  put_csv_text(line, csv_line_text(name, kLongestMark));
  line.put('\n');
  return write_line(*file, line.view(), owned->path_of(kMarksFileName));
}

}  // namespace tacho
