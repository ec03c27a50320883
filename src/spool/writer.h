// The agent's side of the spool: rows appended one write each to the open segment, sealed from time to time. A row that
// does not fit is cut off again and goes to the next folder (another disk, then memory), until the first one has room
// again. A folder that somebody removes is made again with all that this process still has of it. Rows survive the
// death of tacho at any moment; sealed segments survive a power cut. Every folder is ours alone and held open
// (os/owned_folder.h). Not thread-safe; a row allocates nothing, a seal does.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/fd.h"
#include "os/owned_folder.h"
#include "spool/layout.h"
#include "spool/seals.h"

namespace tacho {

class SpoolWriter {
 public:
  // Makes the run's folder in the first of `roots` that works and locks it. `utc` is "20261115T140000Z".
  static Result<SpoolWriter> create(const std::vector<std::string>& roots, std::string_view utc);

  const std::string& folder() const { return folders_[0]; }
  const std::vector<std::string>& folders() const { return folders_; }  // with the overflows, made or not
  const std::string& current_folder() const { return folders_[at_]; }
  int lock_fd() const { return lock_.get(); }
  const std::string& meta_folder() const { return folders_[meta_at_]; }  // that has the newest description
  bool in_memory() const { return folders_[at_].starts_with("/dev/shm/"); }
  bool moved() const { return at_ > 0; }  // the first folder takes no more
  size_t place() const { return at_; }    // of folders(): where rows go now

  // With `sync` its bytes are on the disk before it takes the old one's place; that it did is the caller's to sync.
  Status write_meta(std::string_view json, bool sync);
  void set_header(std::string_view line) { header_ = line; }
  void set_ending(std::string_view ending) { ending_ = ending; }  // of sealed segments: .csv unless said otherwise
  // One line with its end.
  Status append(std::string_view line);
  int64_t open_bytes() const { return seal_.bytes; }
  int64_t open_rows() const { return seal_.rows; }
  uint32_t open_number() const { return segment_ ? seal_.number : next_; }
  std::string sealed_name() const { return segment_name(open_number(), ending_); }  // of the open segment, once sealed
  // Ends the open segment; nothing happens when it has no row. After a failure the segment stays open. Without `sync`
  // the caller must see to it that the segment survives a power cut: a busy disk may take seconds for that.
  Status seal(bool sync = true);
  // The job never started: no trace is left.
  void discard();

 private:
  Status append_here(std::string_view line);
  Status seal_open(bool sync);
  Status seal_here(bool sync);
  Status write_seal_line();
  bool move_on();
  void move_back();
  bool remake();
  bool remake_file(Fd& file, std::string_view name) const;
  bool is_there(size_t index) const;
  bool make_folder(size_t index);
  void open_seals();
  bool name_overflows() const;
  const OwnedFolder& here() const { return held_[at_].folder; }
  std::string open_name() const { return segment_name(seal_.number, kOpenEnding); }

  struct Held {
    OwnedFolder root, folder;  // none: not made yet
  };
  std::vector<std::string> folders_;  // where the run lives, then its overflows
  std::vector<Held> held_;            // the same, open
  size_t at_ = 0;                     // the folder of the open segment
  Fd lock_, segment_, seals_;
  std::string header_, first_;
  std::string_view ending_ = kSealedEnding;
  Seal seal_;  // of the open segment, so far
  uint32_t next_ = 0;
  std::string meta_;  // as it was written last
  size_t meta_at_ = 0;
  int seals_until_return_ = 1, returns_failed_ = 0;
  bool seals_torn_ = false;
};

}  // namespace tacho
