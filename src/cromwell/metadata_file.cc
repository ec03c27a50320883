#include "cromwell/metadata_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "codec/gunzip.h"
#include "os/file.h"
#include "os/temporary_file.h"

namespace tacho {
namespace {

constexpr size_t kPackedBytes = 8 * 1024;  // inflates to 8 MiB at the very most

// The state of one reader.
struct Source {
  int fd = -1;
  int64_t offset = 0;
  std::unique_ptr<GzipDecoder> decoder;  // null: plain
  std::string text;
  size_t at = 0;
  int64_t bytes = 0;  // of the file
  int percent = -1;
  std::function<void(int percent)> told;

  void tell() {
    if (!told || bytes <= 0) return;
    const int now = static_cast<int>(std::min<int64_t>(100, offset / std::max<int64_t>(1, bytes / 100)));
    if (std::exchange(percent, now) != now) told(now);
  }

  Result<size_t> fill(char* to, size_t room) {
    if (!decoder) {
      auto got = read_at(fd, to, room, offset);
      if (got) offset += static_cast<int64_t>(*got);
      return got;
    }
    while (at == text.size()) {
      std::array<char, kPackedBytes> packed;
      const auto got = read_at(fd, packed.data(), packed.size(), offset);
      if (!got) return got.error();
      if (*got == 0 && !decoder->is_whole())
        return Error{Code::invalid, "the gzip stream is damaged or cut off at its end", "", "fetch it again"};
      if (*got == 0) return size_t{0};
      offset += static_cast<int64_t>(*got);
      text.clear();
      at = 0;
      if (!decoder->decode({packed.data(), *got}, text) && text.empty())
        return Error{Code::invalid, "the gzip stream is damaged before its byte " + std::to_string(offset), "",
                     "fetch it again"};
    }
    const size_t size = std::min(room, text.size() - at);
    std::memcpy(to, text.data() + at, size);
    at += size;
    return size;
  }
};

Result<Fd> copy_to_temporary(int from, const std::string& what) {
  auto copy = open_temporary_file();
  if (!copy) return copy.error();
  std::array<char, 64 * 1024> buffer;
  for (;;) {
    const ssize_t got = ::read(from, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("cannot read the " + what, "stdin", errno);
    if (got == 0) return copy;
    if (const Status status = write_all(copy->get(), {buffer.data(), static_cast<size_t>(got)}); !status)
      return status.error();
  }
}

}  // namespace

Result<MetadataFile> MetadataFile::open(const std::string& path, const std::string& what) {
  Fd fd{path == "-" ? ::dup(0) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!fd) return system_error("cannot open the " + what, path, errno);
  struct stat about {};
  if (::fstat(fd.get(), &about) != 0) return system_error("cannot open the " + what, path, errno);
  if (S_ISDIR(about.st_mode)) return Error{Code::invalid, "this is a folder", path, "name a file with its " + what};
  if (S_ISREG(about.st_mode) && path != "-") return MetadataFile(std::move(fd));
  auto copy = copy_to_temporary(fd.get(), what);
  if (!copy) return copy.error();
  return MetadataFile(std::move(*copy));
}

JsonReader::Fill MetadataFile::reader(std::function<void(int percent)> told) const {
  auto source = std::make_shared<Source>();
  source->fd = fd_.get();
  source->told = std::move(told);
  struct stat about {};
  if (source->told && ::fstat(fd_.get(), &about) == 0) source->bytes = about.st_size;
  std::array<char, 3> start{};
  const size_t got = read_at(fd_.get(), start.data(), start.size(), 0).value_or(0);
  if (GzipDecoder::is_gzip({start.data(), got})) source->decoder = std::make_unique<GzipDecoder>();
  else if (got == 3 && std::string_view(start.data(), 3) == "\xEF\xBB\xBF") source->offset = 3;  // a byte order mark
  return [source](char* to, size_t room) {
    source->tell();
    return source->fill(to, room);
  };
}

}  // namespace tacho
