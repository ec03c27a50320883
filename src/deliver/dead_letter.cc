#include "deliver/dead_letter.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"
#include "codec/iso_time.h"
#include "deliver/records.h"
#include "os/file.h"
#include "os/owned_folder.h"
#include "spool/layout.h"

namespace tacho {

DeadLetters::DeadLetters(const std::string& folder)
    : root_(folder.substr(0, folder.rfind('/'))), run_(folder.substr(folder.rfind('/') + 1)) {}

Status DeadLetters::keep(const std::string& table, const BqDropped& dropped) {
  Json row = parse_json(dropped.row.json);
  if (row.is_discarded()) row = valid_utf8(dropped.row.json);
  const auto replace = Json::error_handler_t::replace;
  if (dropped.out_of_bounds)
    return append(root_ + "/load/" + run_ + "." + table + ".ndjson", dropped.row.insert_id,
                  row.dump(-1, ' ', false, replace) + "\n");
  const Json letter{{"time", IsoTime(system_clock().realtime_ns()).view()},
                    {"table", table},
                    {"insertId", dropped.row.insert_id},
                    {"reason", dropped.reason},
                    {"location", dropped.location},
                    {"message", dropped.message},
                    {"row", row}};
  return append(root_ + "/dead-letter/" + run_ + ".jsonl", dropped.row.insert_id,
                letter.dump(-1, ' ', false, replace) + "\n");
}

Status DeadLetters::append(const std::string& path, const std::string& insert_id, const std::string& line) {
  last_path_ = path;
  // By its text: rows for a load job have no id, and the same row has the same text.
  std::set<std::string>& known = known_[path];
  const size_t slash = path.rfind('/');
  const auto folder = OwnedFolder::make(path.substr(0, slash));
  if (!folder) return folder.error();
  const std::string name = path.substr(slash + 1);
  if (known.empty())
    if (const auto before = folder->read(name))
      for (const std::string_view old : split(*before, '\n'))
        if (!old.empty()) {
          const std::string id = text_of(parse_json(old), "insertId");
          known.insert(id.empty() ? std::string(old) : id);
        }
  const bool is_letter = path.ends_with(".jsonl");
  if (!known.insert(is_letter ? insert_id : line.substr(0, line.size() - 1)).second) return ok();
  const auto fd = folder->open_file(name, O_WRONLY | O_CREAT | O_APPEND, kSpoolFileMode);
  if (!fd) return Error{fd.error().code, "cannot keep a refused row", path, fd.error().hint};
  if (const Status written = write_all(fd->get(), line); !written) return written;
  if (::fdatasync(fd->get()) != 0) return system_error("cannot keep a refused row", path, errno);
  return ok();
}

}  // namespace tacho
