#include "os/atomic_file.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "os/file.h"
#include "os/owned_folder.h"

namespace tacho {
namespace {

// All of text from offset 0, and nothing after it.
bool write_from_start(int fd, std::string_view text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t put = ::pwrite(fd, text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    done += static_cast<size_t>(put);
  }
  return ::ftruncate(fd, static_cast<off_t>(text.size())) == 0;
}

// By number: older C libraries have no wrapper.
int exchange_names(const char* a, const char* b) {
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE));
}

}  // namespace

AtomicFile::AtomicFile(std::string folder, std::string name, mode_t mode)
    : folder_(std::move(folder)),
      path_(folder_ + "/" + name),
      spare_path_(folder_ + "/." + temporary_name(name)),
      mode_(mode) {}

AtomicFile::~AtomicFile() { finish(); }

Status AtomicFile::replace(std::string_view text) {
  if (can_exchange_ && current_) return exchange(text);
  // The first text, and every text where names cannot be exchanged.
  if (!can_exchange_ || !make_first(text)) {
    const Status status = write_file_atomically(path_, text, false, mode_);
    if (!status) return status;
  }
  if (can_exchange_) {
    if (!current_) current_ = Fd(::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
    spare_ = Fd(::open(spare_path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode_));
    can_exchange_ = current_ && spare_;
  }
  return ok();
}

bool AtomicFile::overwrite(size_t offset, std::string_view part) {
  if (!current_) return false;
  const ssize_t put = ::pwrite(current_.get(), part.data(), part.size(), static_cast<off_t>(offset));
  return put == static_cast<ssize_t>(part.size());
}

// A file without a name that gets one when it is whole. False where the file system or a masked /proc does not allow
// it.
bool AtomicFile::make_first(std::string_view text) {
  Fd file(::open(folder_.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode_));
  if (!file || !write_from_start(file.get(), text)) return false;
  const std::string nameless = "/proc/self/fd/" + std::to_string(file.get());
  if (::linkat(AT_FDCWD, nameless.c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) != 0) return false;
  current_ = std::move(file);
  return true;
}

Status AtomicFile::exchange(std::string_view text) {
  if (!write_from_start(spare_.get(), text)) {
    const int saved = errno;
    // Half a text is of no use to anybody, the room may be.
    if (::ftruncate(spare_.get(), 0) != 0) finish();
    return system_error("cannot write", path_, saved);
  }
  if (exchange_names(spare_path_.c_str(), path_.c_str()) == 0) {
    std::swap(current_, spare_);
    return ok();
  }
  // EINVAL: the file system cannot; ENOENT: somebody tidied up. Either way a new file does it.
  finish();
  return write_file_atomically(path_, text, false, mode_);
}

void AtomicFile::finish() {
  if (spare_) ::unlink(spare_path_.c_str());
  current_.reset();
  spare_.reset();
  can_exchange_ = false;
}

}  // namespace tacho
