// A file without a name, gone with its descriptor, for what does not fit into memory: in TMPDIR, else /tmp, readable by
// its owner only. O_TMPFILE (Linux 3.11) where the file system has it. Thread-safe.
#pragma once
#include "base/result.h"
#include "os/fd.h"

namespace tacho {

Result<Fd> open_temporary_file();
// All of `size` bytes at `offset`, or fewer at the end of the file. Does not move the descriptor's position.
Result<size_t> read_at(int fd, char* to, size_t size, int64_t offset);
Status write_at(int fd, const char* from, size_t size, int64_t offset);

}  // namespace tacho
