#include "deliver/dead_letter.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/path.h"
#include "base/text.h"
#include "base/time_text.h"
#include "deliver/records.h"
#include "net/google/bigquery_schema.h"
#include "net/http/digest.h"
#include "os/file.h"
#include "os/owned_folder.h"
#include "spool/layout.h"

namespace tacho {
namespace {

// Behind what a full disk or a power cut tore, on a line of its own; what goes out in part is cut off again.
Status append_line(int fd, const std::string& line) {
  struct stat before {};
  char last = '\n';
  const bool known = ::fstat(fd, &before) == 0;
  const bool torn = known && before.st_size > 0 && ::pread(fd, &last, 1, before.st_size - 1) == 1 && last != '\n';
  const Status written = write_all(fd, torn ? "\n" + line : line);
  if (!written && known) [[maybe_unused]]
    const int cut = ::ftruncate(fd, before.st_size);
  return written;
}

}  // namespace

DeadLetters::DeadLetters(const std::string& folder) : root_(parent_folder(folder)), run_(last_part(folder)) {}

Status DeadLetters::keep(const std::string& table, const BqDropped& dropped) {
  Json row = parse_json(dropped.row.json, kBqRowBounds);
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

DeadLetters::Mark DeadLetters::mark_of(std::string_view text) {
  const std::string hash = sha256(text);
  Mark mark;
  std::memcpy(mark.data(), hash.data(), sizeof mark);
  return mark;
}

// By its text: rows for a load job have no id, and the same row has the same text. A line at a time: the file may have
// grown large over restarts.
std::set<DeadLetters::Mark>& DeadLetters::known(const OwnedFolder& folder, const std::string& name) {
  const auto [found, is_new] = known_.try_emplace(folder.path_of(name));
  if (!is_new) return found->second;
  const bool is_letter = name.ends_with(".jsonl");
  std::string line;
  static_cast<void>(folder.read_pieces(name, [&](std::string_view piece) {
    for (size_t end = piece.find('\n'); end != std::string_view::npos; end = piece.find('\n')) {
      line.append(piece.substr(0, end));
      const std::string id = is_letter ? text_of(parse_json(line, kBqRowBounds), "insertId") : "";
      if (!line.empty()) found->second.insert(mark_of(id.empty() ? line : id));
      line.clear();
      piece.remove_prefix(end + 1);
    }
    line.append(piece);
    return true;
  }));
  return found->second;
}

Status DeadLetters::append(const std::string& path, const std::string& insert_id, const std::string& line) {
  last_path_ = path;
  const std::string_view text = std::string_view(line).substr(0, line.size() - 1);
  const Mark mark = mark_of(path.ends_with(".jsonl") ? std::string_view(insert_id) : text);
  const size_t slash = path.rfind('/');
  const auto folder = OwnedFolder::make(path.substr(0, slash));
  if (!folder) return folder.error();
  const std::string name = path.substr(slash + 1);
  std::set<Mark>& kept = known(*folder, name);
  if (kept.contains(mark)) return ok();
  const auto fd = folder->open_file(name, O_RDWR | O_CREAT | O_APPEND, kSpoolFileMode);
  if (!fd) return Error{fd.error().code, "cannot keep a refused row", path, fd.error().hint};
  if (const Status written = append_line(fd->get(), line); !written)
    return Error{written.error().code, "cannot keep a refused row", path, written.error().hint};
  if (::fdatasync(fd->get()) != 0) return system_error("cannot keep a refused row", path, errno);
  kept.insert(mark);  // only now: what could not be written is not kept
  return ok();
}

}  // namespace tacho
