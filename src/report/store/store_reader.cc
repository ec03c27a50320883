#include "report/store/store_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "os/file.h"
#include "os/timespec.h"

namespace tacho {
namespace {

constexpr int kTries = 3;  // a reader that was slow enough to see run.json rewritten reads again
constexpr int64_t kLargest = int64_t{1} << 30;

}  // namespace

StoreReader::StoreReader(std::string store_dir)
    : store_dir_(std::move(store_dir)), store_(::open(store_dir_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}

Status StoreReader::read_text(const std::string& name, RunStamp& stamp) {
  path_.assign(name).append("/run.json");
  const Fd file(::openat(store_.get(), path_.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  const int reason = errno;
  struct stat info {};
  const bool seen = file ? ::fstat(file.get(), &info) == 0 : ::fstatat(store_.get(), path_.c_str(), &info, 0) == 0;
  if (!seen || !S_ISREG(info.st_mode))
    return Error{Code::not_available, "this is no run", store_dir_ + "/" + path_, ""};
  if (!file) return system_error("cannot open", store_dir_ + "/" + path_, reason);
  if (info.st_size > kLargest)
    return Error{Code::invalid, "file is too large", store_dir_ + "/" + path_,
                 "tacho writes none of this size; look at it, or remove the run"};
  stamp = {info.st_size, as_ns(info.st_mtim)};
  size_ = 0;
  for (;;) {
    // One byte more than there should be: a read that leaves room is the last one.
    room_.resize(std::max(room_.size(), std::max(size_, static_cast<size_t>(info.st_size)) + 1));
    const ssize_t got = ::read(file.get(), room_.data() + size_, room_.size() - size_);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("cannot read", store_dir_ + "/" + path_, errno);
    size_ += static_cast<size_t>(got);
    if (got == 0 || size_ == static_cast<size_t>(info.st_size)) return ok();
  }
}

Result<StoredRun> StoreReader::read(const std::string& name, Kept kept, RunStamp& stamp) {
  Error error;
  for (int i = 0; i < kTries; ++i) {
    if (const Status read = read_text(name, stamp); !read) return read.error();
    const std::string_view text = std::string_view(room_).substr(0, size_);
    auto stored = parse_run_text(text, kept);
    if (!stored) {
      error = damaged_run(stored.error(), store_dir_ + "/" + name);
      continue;
    }
    stored->folder.reserve(store_dir_.size() + 1 + name.size());
    stored->folder.append(store_dir_).append("/").append(name);
    if (is_abandoned(*stored)) {
      stored->json = text;
      mark_interrupted(*stored, false);
    }
    return stored;
  }
  return error;
}

}  // namespace tacho
