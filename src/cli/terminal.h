// Whether what a subcommand prints has colours. Reads the environment.
#pragma once
#include "engine/settings.h"
#include "os/text_table.h"

namespace tacho {

bool use_color(ColorMode mode, int fd);

}  // namespace tacho
