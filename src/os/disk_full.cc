#include "os/disk_full.h"

#include <cerrno>
#include <cstring>

namespace tacho {

bool is_disk_full(const Error& error) {
  return error.code == Code::io &&
         (error.hint.starts_with(std::strerror(ENOSPC)) || error.hint.starts_with(std::strerror(EDQUOT)));
}

}  // namespace tacho
