// A log that another process writes: read through one buffer, from where it was left, over truncation, rotation and
// deletion.
//  - truncated (shorter than what was read, or other bytes before the place): from 0 again, and restarted() tells;
//  - replaced (another inode under the name): the old one is read to its end, then those that had the name in between
//    (rotation.h), then the new one from 0;
//  - deleted: what is open is read to its end.
// A place is kept as device, inode, offset and a checksum of the bytes before it, which tells a file that began anew
// from one that grew. An error of reading passes: the next fill() goes on where this one would have. Whoever writes the
// file is not trusted: only plain files are read, and with stay_inside() none that a link out of the folder leads to.
// Not thread-safe; allocates only when a line does not fit into the buffer.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/fd.h"

namespace tacho {

class GrowingFile {
 public:
  struct Identity {
    uint64_t device = 0, inode = 0;
    bool operator==(const Identity&) const = default;
  };
  struct Place {
    Identity file;
    uint64_t offset = 0;
    uint64_t before_size = 0;  // how many bytes before it the checksum covers
    uint32_t before_crc = 0;
  };
  enum class Fill {
    more,     // bytes were added to unread()
    nothing,  // all there is was read
    ended,    // nothing more will come to this file: it was replaced, or `at_end`
  };

  explicit GrowingFile(std::string path);
  // The file is read only if it is in the folder of its path or below it: a log is shown to people, and a secret must
  // not be.
  void stay_inside() { inside_ = true; }
  // The system calls; a seam for tests.
  struct Calls {
    int (*open)(const char* path, int flags);
    ssize_t (*pread)(int fd, void* to, size_t size, off_t offset);
  };
  static Calls calls;

  // Reads on, 64 KiB at the most while no line is longer.
  Result<Fill> fill(bool at_end);
  // Where much was not read yet: goes on behind the last line's end there is now, without reading what is before it.
  // What fill() would have noticed on the way is noticed: that the text before the place is another one. False: nothing
  // was passed over.
  bool skip_lines();
  // After `ended`: goes on with the file that replaced this one. False when there is none.
  bool next();

  std::string_view unread() const { return {buffer_.data() + begin_, end_ - begin_}; }
  void consume(size_t bytes) { begin_ += bytes; }
  uint64_t size() const;                                             // of the open file; 0 when there is none
  uint64_t offset() const { return end_offset_ - (end_ - begin_); }  // of the first unread byte
  // The same over all files of this attempt, from the first or from the one of the last seek.
  uint64_t passed() const { return files_before_ + offset(); }
  Identity identity() const { return identity_; }
  const std::string& path() const { return path_; }

  // Nothing before the first file was opened. `back`: this many bytes earlier, which were consumed since the last
  // fill().
  std::optional<Place> place(size_t back = 0) const;
  // Goes on from there at the next fill(); nothing: from the beginning of the first file that was read.
  void seek(std::optional<Place> place);
  // The file that has the name now is the first, and is read from its beginning.
  void begin_anew();
  // Opens the file of the name, if none was opened and no place is wanted: it will be the first, whatever becomes of
  // its name.
  void hold();
  // The file began anew since the last call.
  bool restarted();
  // Counts how often reading had to begin at 0 though another place was expected.
  uint64_t beginnings() const { return beginnings_; }

 private:
  bool open(const std::string& path, bool& absent);
  Status open_first();
  bool open_by_identity(Identity wanted);
  void forget_buffer();
  std::optional<bool> is_same_text_before(const Place& place) const;
  bool has_other_text_before() const;
  bool is_inside(int fd) const;
  void start_again();
  bool is_replaced(bool at_end) const;
  void make_room();
  ssize_t read_on();

  std::string path_;
  Fd fd_;
  Identity identity_;
  std::optional<Identity> first_;
  std::optional<Place> wanted_;  // a seek that was not done yet
  bool restarted_ = false, inside_ = false;
  int refused_ = 0;  // looks at which the next of several rotated files could not be opened
  uint64_t beginnings_ = 0;
  bool at_eof_ = false;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;  // what is unread; before it some bytes that were read, for the checksum
  uint64_t end_offset_ = 0;     // of buffer_[end_] in the file
  uint64_t files_before_ = 0;   // bytes of those that were read to their end
};

}  // namespace tacho
