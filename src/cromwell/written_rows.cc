#include "cromwell/written_rows.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "cromwell/existing.h"
#include "cromwell/json_reader.h"
#include "os/fd.h"

namespace tacho {
namespace {

using Token = JsonReader::Token;

// The lines of a file, one after the other, as what a JsonReader reads.
class Lines {
 public:
  explicit Lines(Fd fd) : fd_(std::move(fd)) {}
  // Of the present line; 0 at its end.
  size_t fill(char* to, size_t room) {
    if (at_line_end_ || !more()) return 0;
    const char* from = buffer_.data() + begin_;
    const auto* end = static_cast<const char*>(std::memchr(from, '\n', end_ - begin_));
    at_line_end_ = end != nullptr && static_cast<size_t>(end - from) <= room;
    const size_t size = std::min(end == nullptr ? end_ - begin_ : static_cast<size_t>(end - from), room);
    std::memcpy(to, from, size);
    begin_ += size + static_cast<size_t>(at_line_end_);
    return size;
  }
  // To the beginning of the next line, wherever the present one was left; false at the end of the file.
  bool next() {
    while (!at_line_end_ && !first_ && more()) {
      const auto* end = static_cast<const char*>(std::memchr(buffer_.data() + begin_, '\n', end_ - begin_));
      at_line_end_ = end != nullptr;
      begin_ = end == nullptr ? end_ : static_cast<size_t>(end - buffer_.data()) + 1;
    }
    first_ = at_line_end_ = false;
    return more();
  }

 private:
  bool more() {
    if (begin_ < end_) return true;
    ssize_t got = 0;
    do got = ::read(fd_.get(), buffer_.data(), buffer_.size());
    while (got < 0 && errno == EINTR);
    begin_ = 0;
    end_ = static_cast<size_t>(std::max<ssize_t>(got, 0));
    return end_ > 0;
  }
  Fd fd_;
  std::array<char, 65'536> buffer_;
  size_t begin_ = 0, end_ = 0;
  bool first_ = true, at_line_end_ = false;
};

constexpr std::array<std::string_view, 5> kKeyColumns{"workflow_id", "task_call_name", "shard", "attempt",
                                                      "execution_status"};

// False: this is no row.
bool read_key(JsonReader& json, uint64_t& key) {
  std::array<std::string, kKeyColumns.size()> parts;
  size_t found = 0;
  if (json.next() != Token::object) return false;
  for (Token token = json.next(); token == Token::key; token = json.next()) {
    const auto column = std::find(kKeyColumns.begin(), kKeyColumns.end(), json.text());
    token = json.next();
    if (column != kKeyColumns.end() && (token == Token::string || token == Token::number) && !json.cut()) {
      parts[static_cast<size_t>(column - kKeyColumns.begin())] = json.text();
      ++found;
    } else if (!json.skip(token)) {
      return false;
    }
    if (found == parts.size()) return key = row_key(parts), true;
  }
  return false;
}

}  // namespace

std::vector<uint64_t> rows_in_file(const std::string& path, const std::vector<uint64_t>& wanted) {
  std::vector<uint64_t> found;
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (wanted.empty() || path == "-" || !fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return found;
  Lines lines(std::move(fd));
  JsonReader json([&](char* to, size_t room) -> Result<size_t> { return lines.fill(to, room); });
  for (uint64_t key = 0; lines.next(); json.restart())
    if (read_key(json, key) && std::binary_search(wanted.begin(), wanted.end(), key)) found.push_back(key);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace tacho
