// The sender's side of the spool: finding runs, knowing whether their owner lives, and reading segments so that only what
// was surely written is ever sent. Not thread-safe.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/fd.h"
#include "spool/layout.h"

namespace tacho {

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
  explicit SpoolRun(std::string folder) : folder_(std::move(folder)) {}

  const std::string& folder() const { return folder_; }
  std::string name() const { return folder_.substr(folder_.rfind('/') + 1); }

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
  // Those that were sealed and whose file somebody removed; `path` is where it would be. Only when the owner is dead.
  std::vector<Segment> missing() const;
  // Only when the owner is dead: cuts off what is torn and seals what is open. Tells what was cut; an Error when something
  // could not be sealed, which is then not in sealed().
  Status recover(std::vector<Torn>& torn) const;
  // The whole CSV of a segment. invalid: the checksum is wrong.
  Result<std::string> read(const Segment& segment) const;
  // The same piece by piece, for those that are too large to be held. Whether the checksum is right is known at the end.
  Status read_pieces(const Segment& segment, const std::function<void(std::string_view piece)>& take) const;
  // A damaged segment is cut down to the lines that are whole, and sealed anew.
  Result<Torn> repair(const Segment& segment) const;
  // Puts other rows in a segment's place, sealed.
  Status replace(const Segment& segment, std::string_view csv, int64_t rows) const;
  // One segment that is not needed any more.
  static void remove(const Segment& segment);

  // Where it lies, then where it would go when that disk takes no more.
  std::vector<std::string> roots() const;
  int64_t bytes() const;  // of its files
  void remove();

 private:
  std::vector<std::string> folders() const;
  std::vector<std::string> overflow_targets() const;  // also those that are not made yet
  Status write_newest(std::string_view name, std::string_view json) const;
  Result<std::string> newest(std::string_view name) const;
  Status recover_in(const std::string& folder, std::vector<Torn>& torn) const;

  std::string folder_;
  Fd lock_;
};

// Folders of runs below a root, oldest first; nothing but names is looked at.
std::vector<std::string> spool_folders(const std::string& root);

// Length of the part of a CSV that is whole: lines that end and have as many fields as the first one.
size_t whole_csv(std::string_view text, int64_t* rows);

}  // namespace tacho
