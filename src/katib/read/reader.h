// A source of metric rows that grows while it is read: a log, or a folder of event files. The file itself is the
// buffer; a reader remembers only where it is. Not thread-safe.
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "katib/model/row.h"
#include "katib/read/reader_options.h"

namespace tacho {

// One read() looks at no more, so that it returns to the caller's loop within milliseconds.
inline constexpr size_t kMostBytesARead = size_t{16} << 20;

class Reader {
 public:
  using Take = std::function<void(const RowView&)>;
  virtual ~Reader() = default;

  // Passes on rows that are there now, in order, about `limit` of them at the most, fewer where they are large. True:
  // more can be read at once. With `at_end` training is over, so a last line without its end counts too. A source that
  // is not there yet has no rows.
  virtual Result<bool> read(bool at_end, size_t limit, const Take& take) = 0;
  // Where the rows passed on so far end, as JSON text for the state file; `seek("")` is the beginning.
  virtual std::string position() const = 0;
  virtual Status seek(std::string_view position) = 0;
  // Reads nothing after that position of its own until stop_at(""): rows can be read again as they were, though the
  // source has grown. Needed only where they would come in another order then.
  virtual Status stop_at(std::string_view) { return ok(); }
  // From the beginning of a new attempt: what was there before it is not read again.
  virtual Status begin_anew() { return seek(""); }
  // How much of the source was dealt with, a number that grows; while a row is passed on, up to its line. The same
  // place has the same number in every reader of the source. 0 where rows have times of their own.
  virtual uint64_t passed() const { return 0; }
  // Takes hold of the source as it is now: nothing was read yet, and it may be renamed or removed before.
  virtual void hold() {}
  // The source began anew (truncated by a second attempt) since the last call.
  virtual bool restarted() { return false; }
  // False: nobody needs further rows; the source may be followed without making them.
  virtual void want_rows(bool) {}
  // Folders to watch for changes; may grow as folders appear.
  virtual std::vector<std::string> folders() const = 0;
  // What was skipped so far.
  virtual ReaderCounts counts() const { return {}; }
};

}  // namespace tacho
