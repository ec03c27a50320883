#include "cli/terminal.h"

#include <unistd.h>

#include "os/environment.h"

namespace tacho {

bool use_color(ColorMode mode, int fd) {
  if (mode != ColorMode::automatic) return mode == ColorMode::always;
  return ::isatty(fd) == 1 && environment_raw("TERM").value_or("dumb") != "dumb";
}

}  // namespace tacho
