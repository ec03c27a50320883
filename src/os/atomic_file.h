// A small file that is replaced as a whole again and again: a reader sees the old text or the new one, also when the
// writer is killed. Two files are kept open and change names by renameat2(RENAME_EXCHANGE) (Linux 3.15; not on every
// file system), which costs a quarter of creating and renaming a new one; where that is refused, a new file is made and
// renamed each time. The very first text appears with its name (O_TMPFILE, Linux 3.11), so that not even a kill in that
// moment leaves a temporary file behind. Not thread-safe; no allocation while the exchange works.
#pragma once
#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/result.h"
#include "os/fd.h"

namespace tacho {

class AtomicFile {
 public:
  // The spare file is in the same folder, hidden, of a name that nobody can know beforehand; it is gone after finish().
  AtomicFile(std::string folder, std::string name, mode_t mode);
  ~AtomicFile();
  AtomicFile(AtomicFile&&) = default;
  AtomicFile& operator=(AtomicFile&&) = delete;

  Status replace(std::string_view text);
  // Overwrites a part of the present text in place. False where that cannot be done; replace() then does it.
  bool overwrite(size_t offset, std::string_view part);
  // Removes the spare. replace() still works afterwards, by a new file each time.
  void finish();

 private:
  bool make_first(std::string_view text);
  Status exchange(std::string_view text);

  std::string folder_, path_, spare_path_;
  mode_t mode_;
  Fd current_, spare_;  // current_ is what path_ names
  bool can_exchange_ = true;
};

}  // namespace tacho
