#include "os/temporary_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "os/environment.h"
#include "os/file.h"

namespace tacho {

Result<Fd> open_temporary_file() {
  const std::string folder = environment_or("TMPDIR", "/tmp");
  if (Fd fd{::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)}) return fd;
  std::string name = folder + "/tacho-XXXXXX";
  Fd fd{::mkostemp(name.data(), O_CLOEXEC)};
  if (!fd) {
    Error error = system_error("cannot make a temporary file", folder, errno);
    error.hint = "set TMPDIR to a folder with room";
    return error;
  }
  ::unlink(name.c_str());
  return fd;
}

Result<size_t> read_at(int fd, char* to, size_t size, int64_t offset) {
  size_t done = 0;
  while (done < size) {
    const ssize_t got = ::pread(fd, to + done, size - done, offset + static_cast<int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("cannot read", "", errno);
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

Status write_at(int fd, const char* from, size_t size, int64_t offset) {
  size_t done = 0;
  while (done < size) {
    const ssize_t put = ::pwrite(fd, from + done, size - done, offset + static_cast<int64_t>(done));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      Error error = system_error("cannot write a temporary file", "", errno);
      error.hint = "set TMPDIR to a folder with room";
      return error;
    }
    done += static_cast<size_t>(put);
  }
  return ok();
}

}  // namespace tacho
