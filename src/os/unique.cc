#include "os/unique.h"

#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "os/clock.h"
#include "os/file.h"

namespace tacho {

Result<bool> make_new_directory(const std::string& path, mode_t mode) {
  if (::mkdir(path.c_str(), mode) == 0) return true;
  if (errno == EEXIST) return false;
  return system_error("cannot make the folder", path, errno);
}

std::string random_hex(size_t digits) {
  uint64_t bits = 0;
  // Early at boot there may be no randomness yet: then time and pid tell runs apart well enough.
  if (::getrandom(&bits, sizeof bits, GRND_NONBLOCK) != sizeof bits)
    bits =
        static_cast<uint64_t>(system_clock().realtime_ns()) * 0x9E3779B97F4A7C15u ^ static_cast<uint64_t>(::getpid());
  std::string text;
  for (digits = std::min<size_t>(digits, 16); digits > 0; --digits, bits >>= 4) text += "0123456789abcdef"[bits & 15];
  return text;
}

}  // namespace tacho
