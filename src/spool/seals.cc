#include "spool/seals.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/crc32c.h"
#include "base/hex.h"
#include "base/text.h"
#include "os/file.h"
#include "spool/layout.h"

namespace tacho {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 40;  // of a segment: beyond that the line is damaged

}  // namespace

std::string seal_line(const Seal& seal) {
  char text[96];
  std::snprintf(text, sizeof text, "%06u %lld %lld %08x\n", seal.number, static_cast<long long>(seal.bytes),
                static_cast<long long>(seal.rows), seal.crc);
  return text;
}

std::optional<Seal> parse_seal(std::string_view line) {
  const std::vector<std::string_view> words = split(line, ' ');
  if (words.size() != 4 || words[3].size() != 8) return std::nullopt;
  // A line that begins behind a torn one has too many digits.
  if (words[0].size() < 6 || (words[0].size() > 6 && words[0][0] == '0')) return std::nullopt;
  const auto number = parse_int<uint32_t>(words[0]);
  const auto bytes = parse_int<int64_t>(words[1]), rows = parse_int<int64_t>(words[2]);
  const auto crc = parse_hex<uint32_t>(words[3]);
  if (!number || !bytes || !rows || !crc || *rows < 0 || *bytes > kMostBytes || *rows > *bytes) return std::nullopt;
  return Seal{*number, *bytes, *rows, *crc};
}

std::map<uint32_t, Seal> read_seals(const OwnedFolder& folder) {
  std::map<uint32_t, Seal> seals;
  const auto text = folder.read(kSealsName);
  if (!text) return seals;
  std::string_view rest = *text;
  for (size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    if (const auto seal = parse_seal(rest.substr(0, end))) seals[seal->number] = *seal;
    rest.remove_prefix(end + 1);
  }
  return seals;
}

Status write_seal(const OwnedFolder& folder, const Seal& seal) {
  const auto fd = folder.open_file(kSealsName, O_RDWR | O_CREAT | O_APPEND, kSpoolFileMode);
  if (!fd) return fd.error();
  // A torn line of a dead owner must not swallow ours.
  char last = '\n';
  struct stat info {};
  if (::fstat(fd->get(), &info) == 0 && info.st_size > 0 && ::pread(fd->get(), &last, 1, info.st_size - 1) != 1)
    last = 0;
  std::string line = seal_line(seal);
  if (last != '\n') line.insert(line.begin(), '\n');
  if (const Status status = write_all(fd->get(), line); !status) return status;
  if (::fsync(fd->get()) != 0) return system_error("cannot seal a spool segment", folder.path_of(kSealsName), errno);
  return ok();
}

Seal seal_of(uint32_t number, std::string_view text, int64_t rows) {
  return {number, static_cast<int64_t>(text.size()), rows, crc32c(text)};
}

bool matches(const Seal& seal, std::string_view text) {
  return seal.bytes == static_cast<int64_t>(text.size()) && seal.crc == crc32c(text);
}

}  // namespace tacho
