// A folder that is ours alone, held open: everything in it is reached from its descriptor, so that what was checked is
// what is used, whatever happens to its path meanwhile. Ours means: no symbolic link, owned by the effective user, and
// not writable by group or others. A file in it is touched only when it is a plain file of ours with one name: a link,
// a pipe or somebody else's file was not put there by tacho, and is neither followed, waited for, changed nor removed.
// Names are single ones; a slash in one is refused. Not thread-safe.
#pragma once
#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/fd.h"

namespace tacho {

class OwnedFolder {
 public:
  OwnedFolder() = default;  // none

  // denied: it is not ours, the hint says why; not_available: it is not there.
  static Result<OwnedFolder> open(const std::string& path);
  // Makes it and what is missing above it, mode 0700, and opens it.
  static Result<OwnedFolder> make(const std::string& path);
  Result<OwnedFolder> open_folder(std::string_view name) const;
  // One that is new: Code::invalid when something of that name is there already.
  Result<OwnedFolder> make_folder(std::string_view name) const;

  // The same folder by another descriptor.
  Result<OwnedFolder> again() const;

  explicit operator bool() const { return static_cast<bool>(fd_); }
  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }  // as it was opened; for messages
  std::string path_of(std::string_view name) const;
  // Whether the folder of that name in here is still this very one.
  bool holds(std::string_view name, const OwnedFolder& folder) const;

  // With these flags and O_NOFOLLOW; truncated only when it is ours. not_available: there is no such file.
  Result<Fd> open_file(std::string_view name, int flags, mode_t mode = 0600) const;
  Result<std::string> read(std::string_view name, size_t limit = size_t{64} << 20) const;
  // The same in small pieces, until `take` returns false.
  Status read_pieces(std::string_view name, const std::function<bool(std::string_view piece)>& take) const;
  // By a new file of an unpredictable name that then takes the place of the old one.
  Status write_atomically(std::string_view name, std::string_view text, bool sync, mode_t mode = 0600) const;
  // Whether a plain file of ours is there.
  bool has_file(std::string_view name) const;
  // Whether anything of that name is there.
  bool has_entry(std::string_view name) const;
  int64_t file_bytes(std::string_view name) const;  // 0 when there is none of ours

  // Both leave alone what has_file() does not see. True when it is done (or was gone before).
  bool remove_file(std::string_view name) const;
  Status rename_file(std::string_view from, std::string_view to) const;
  // A folder in here; never in the place of another.
  bool rename_folder(std::string_view from, std::string_view to) const;
  bool remove_folder(std::string_view name) const;  // when it is empty

  bool list(const std::function<void(std::string_view name)>& visit) const;
  void sync() const;  // new names in it survive a power cut

 private:
  OwnedFolder(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  static Result<OwnedFolder> take(Fd fd, std::string path, int error_number);

  Fd fd_;
  std::string path_;
};

// "meta.json.tmp1f2e3d4c5b6a7988" of "meta.json": what write_atomically() leaves when it is killed. Empty when the name
// is no such name.
std::string_view without_temporary_ending(std::string_view name);
// A name for a new file beside `name` that nobody can know beforehand.
std::string temporary_name(std::string_view name);

}  // namespace tacho
