// Small files in the folder that the collector shares with the trainer, whom it does not trust: under a name there may
// be a link out of the folder, a FIFO on which an open would wait for ever, a device, a directory, or a huge file. Only
// a plain file in the folder is read, and no existing file is written into: a new file replaces it. Thread-safe.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tacho {

Result<std::string> read_shared_file(const std::string& path, size_t limit);
// Which file has the name, and when it was written last (realtime clock).
struct FileVersion {
  uint64_t inode = 0;
  int64_t written_ns = 0;
  bool operator==(const FileVersion&) const = default;
};
// Of the name itself, not of what a link leads to; nothing where there is none.
std::optional<FileVersion> shared_file_version(const std::string& path);
// By a new file beside it and a rename; `sync`: it survives a power cut.
Status replace_shared_file(const std::string& path, std::string_view text, mode_t mode, bool sync);

}  // namespace tacho
