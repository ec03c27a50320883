#include "os/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/log.h"
#include "os/environment.h"
#include "os/file.h"

namespace tacho {
namespace {

void hold_places() {
  for (int place = 0; place <= STDERR_FILENO; ++place) {
    if (::fcntl(place, F_GETFD) >= 0 || errno != EBADF) continue;
    // O_PATH: neither read nor written. The lowest free place is this one, since those below are taken.
    const int fd = ::open("/", O_PATH | O_CLOEXEC);
    if (fd >= 0 && fd != place) {
      ::dup3(fd, place, O_CLOEXEC);
      ::close(fd);
    }
  }
}

}  // namespace

void prepare_standard_streams() {
  hold_places();
  log::set_ascii(locale_is_ascii());
}

int print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return 0;
  // Who has gone, as head does when it has its lines, knows it.
  if (errno != EPIPE) log::error(system_error("cannot write", "stdout", errno).message());
  return 1;
}

}  // namespace tacho
