#include "deliver/discover.h"

#include "base/log.h"

namespace tacho {

int discover_command(std::span<const std::string>) { return log::error("tacho discover comes later"), 125; }

}  // namespace tacho
