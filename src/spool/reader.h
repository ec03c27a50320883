// The sender's side of the spool: finding runs, knowing whether their owner lives, and reading segments so that only
// what was surely written is ever sent. Every folder is ours alone and held open (os/owned_folder.h); a file that the
// spool did not make is neither read, locked, renamed nor removed. Its parts: mending.cc repairs segments, removal.cc
// ends a run. Not thread-safe.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/path.h"
#include "base/result.h"
#include "os/fd.h"
#include "os/owned_folder.h"
#include "spool/layout.h"
#include "spool/seals.h"

namespace tacho {

inline constexpr size_t kSegmentLimit = size_t{64} << 20;  // of one that is held in memory

struct Segment {
  Seal seal;
  std::string path;
};

// What was not sent because it was not whole.
struct Torn {
  std::string path;
  int64_t bytes = 0;
};

class SpoolRun {
 public:
  // Opens it; see usable().
  explicit SpoolRun(std::string folder);

  // denied: the folder is not ours, the hint says why; not_available or gone: it is not there.
  Status usable() const;
  // Whether anything lies in it that the spool makes.
  bool has_files() const;
  // Whether a segment, a seal or a state of the delivery is there with something in it.
  bool has_rows() const;

  const std::string& folder() const { return folder_; }
  std::string name() const { return std::string(last_part(folder_)); }

  // Takes the run over from a dead owner. not_available: somebody else has it; gone: it was delivered meanwhile.
  Status lock();
  pid_t owner_pid() const;  // the agent's, 0 when unknown

  Result<std::string> meta() const;
  Result<std::string> state() const;
  // With fsync; into an overflow where this disk takes no more.
  Status write_state(std::string_view json) const;
  // Only when nobody writes to the run any more.
  Status write_meta(std::string_view json) const;

  // Sealed segments in order, from all folders of the run.
  std::vector<Segment> sealed() const;
  // An Error where something else stands in a segment's place, or segments are not of this form (their ending): a
  // person has to look.
  Status check_segments(std::string_view form) const;
  // Sealed segments whose file somebody removed; `path` is where it would be. Only when the owner is dead.
  std::vector<Segment> missing() const;
  // Only when the owner is dead: cuts off a torn end and seals the open segment. `form` is the ending of the run's
  // sealed segments: the run's kind knows it, an open segment does not show it. Says what was cut; an Error when
  // something could not be sealed, which is then not in sealed().
  Status recover(std::string_view form, std::vector<Torn>& torn) const;
  // The whole CSV of a segment. invalid: the checksum is wrong.
  Result<std::string> read(const Segment& segment) const;
  // The same piece by piece, for segments that are too large for memory. Whether the checksum is right is known at the
  // end.
  Status read_pieces(const Segment& segment, const std::function<void(std::string_view piece)>& take) const;
  // Keeps the whole rows of a damaged segment, and seals it again.
  Result<Torn> repair(const Segment& segment) const;
  // Puts other rows in a segment's place, sealed.
  Status replace(const Segment& segment, std::string_view text, int64_t rows) const;
  // For reading.
  Result<Fd> open(const Segment& segment) const;
  // One segment that is not needed any more.
  void remove(const Segment& segment) const;

  // The root that the run lies in, then those where it would go when that disk takes no more.
  std::vector<std::string> roots() const;
  int64_t bytes() const;  // of its files
  // Rows on another disk, which was not there when they were looked for last: that look may be half a second old.
  bool has_unread() const;
  // Removes the run's files that the spool made, and then the folder. Anything else in it stays, and so does the
  // folder, whose path is then returned; empty when all is gone.
  std::string remove();

 private:
  Result<OwnedFolder*> main() const;
  Result<OwnedFolder> place(const std::string& folder) const;  // one of folders()
  std::vector<std::string> folders() const;
  std::vector<std::string> overflow_targets() const;  // also those that are not made yet
  bool has_no_further() const;                        // of folders(), but the first
  Result<OwnedFolder> make_further(const std::string& path) const;
  Status write_newest(std::string_view name, std::string_view json) const;
  Result<std::string> newest(std::string_view name) const;
  Status recover_in(const OwnedFolder& folder, std::string_view form, std::vector<Torn>& torn) const;
  struct Form {
    uint32_t number;
    std::string_view ending;
  };
  Status seal_whole_rows(const OwnedFolder& folder, const std::string& name, const Form& form, std::string text,
                         std::vector<Torn>& torn) const;

  std::string folder_;
  mutable OwnedFolder root_, main_;  // root_ is none where that folder is not ours: a run may be copied anywhere
  mutable int64_t none_until_ns_ = 0;
  Fd lock_;
};

// Folders of runs below a root that is ours, oldest first; only the names of the runs are read.
std::vector<std::string> spool_folders(const std::string& root);
// Finishes interrupted removals: folders of runs that were delivered but not removed. Reports those that hold something
// that the spool did not make.
std::vector<std::string> sweep_delivered(const std::string& root);

}  // namespace tacho
