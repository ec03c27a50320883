// Files of the kernel and of the store. All paths of /proc and /sys go through Roots, so that tests can put a captured
// tree in their place. Not thread-safe unless said.
#pragma once
#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/fd.h"

namespace tacho {

// Where the kernel's trees are: "/proc" and "/sys" unless TACHO_PROCFS_ROOT and TACHO_SYSFS_ROOT say otherwise.
struct Roots {
  std::string proc = "/proc";
  std::string sys = "/sys";
  std::string etc = "/etc";
  static Roots from_environment();
  bool are_real() const { return proc == "/proc" && sys == "/sys"; }  // not copies of a test: live, and of one machine
};

// An Error for errno: ENOENT, ENODEV … are not_available, ESRCH is gone, EACCES and EPERM are denied.
Error system_error(std::string_view what, std::string_view path, int error_number);

// One buffer for all reads of a thread: grows to the largest file met, then never again.
class ReadBuffer {
 public:
  explicit ReadBuffer(size_t capacity = 16 * 1024) { data_.resize(capacity); }
  // The whole file from offset 0. The view is good until the next read.
  Result<std::string_view> read(int fd);
  // The same for a tick: nothing on failure, no Error is built. errno tells.
  bool read(int fd, std::string_view& text);
  // openat + read + close.
  bool read_at(int dir_fd, const char* path, std::string_view& text);

 private:
  std::vector<char> data_;
};

// A kernel file that is kept open and read again from its start at every tick. After a failure it is opened anew at
// the next read, at most once a second's worth of reads, so that a file that comes late is found.
class KeptFile {
 public:
  KeptFile() = default;
  explicit KeptFile(std::string path) : path_(std::move(path)) {}
  // False when it cannot be read; errno tells. The view is good until the buffer's next read.
  bool read(ReadBuffer& buffer, std::string_view& text);
  const std::string& path() const { return path_; }
  bool is_open() const { return static_cast<bool>(fd_); }
  int fd() const { return fd_.get(); }
  void close() { fd_.reset(); }

 private:
  std::string path_;
  Fd fd_;
};

// For reading what anybody may have put there: only a plain file is opened, so that neither a pipe is waited for nor a
// device does something. Of a link the first looks at what it leads to, the second refuses it.
Result<Fd> open_regular_file(const std::string& path);
Result<Fd> open_plain_file(const std::string& path);

constexpr size_t kLargestRead = 64u << 20;
// For start-up and user files: allocates.
Result<std::string> read_whole_file(const std::string& path, size_t limit = kLargestRead);
// The same of open_regular_file() and open_plain_file(); one that says it is larger is not read at all.
Result<std::string> read_regular_file(const std::string& path, size_t limit = kLargestRead);
Result<std::string> read_plain_file(const std::string& path, size_t limit = kLargestRead);
// The same in small pieces, until `take` returns false.
Status read_pieces(const std::string& path, const std::function<bool(std::string_view piece)>& take);
std::string read_first_line(const std::string& path);  // trimmed; empty when unreadable
// A device, a FIFO or a socket, also behind a link.
bool is_special_file(const std::string& path);
// What a user named, "-" for stdout: a file is replaced as below, of a link what it leads to (os/output_target.h); what
// is special is written to, since root could replace /dev/null by a file.
Status write_output(const std::string& path, std::string_view text, mode_t mode, int patience_ms);
// Temporary file in the same folder, fsync when asked, rename.
Status write_file_atomically(const std::string& path, std::string_view text, bool sync = false, mode_t mode = 0644);
Status make_directories(const std::string& path, mode_t mode = 0700);
bool file_exists(const std::string& path);
int64_t link_count(int fd);                                  // −1 when unknown
bool same_file(const std::string& a, const std::string& b);  // by device and inode; links are followed
std::string read_link(const std::string& path);              // empty when it is none
// Names in a folder without . and ..; false when it cannot be read.
bool list_directory(const std::string& path, const std::function<void(std::string_view name)>& visit);
// Not inherited by what is started from now on; false when it is not open.
bool close_on_exec(int fd);
// Without links, "." and ".."; as it is where that cannot be told.
std::string real_path(const std::string& path);
// Writes all of text, in one write where the kernel takes it. On failure returns how much was written through
// `written`.
Status write_all(int fd, std::string_view text, size_t* written = nullptr);

}  // namespace tacho
