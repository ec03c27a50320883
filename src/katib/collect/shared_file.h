// Small files in the folder that the collector shares with the trainer, whom it does not trust: what stands under a
// name may be a link out of the folder, a FIFO on which an open would wait for ever, a device, a directory, or huge.
// Nothing but a plain file of the folder is read, and nothing that stands there is written into: a new file takes its
// name. Thread-safe.
#pragma once
#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/result.h"

namespace tacho {

Result<std::string> read_shared_file(const std::string& path, size_t limit);
// By a new file beside it and a rename; `sync`: it survives a power cut.
Status replace_shared_file(const std::string& path, std::string_view text, mode_t mode, bool sync);

}  // namespace tacho
