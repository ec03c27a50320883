#include "deliver/csv_source.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace tacho {
namespace {

constexpr std::string_view kEnd = "\"}";

// Rows are ASCII. Should a damaged one hold anything else, the body is still JSON.
void append_json(std::string& out, std::string_view text) {
  constexpr const char* kHex = "0123456789abcdef";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') out += "\\n";
    else if (c == '"' || c == '\\') (out += '\\') += c;
    else if (byte < ' ' || byte >= 0x7f) ((out += "\\u00") += kHex[byte >> 4]) += kHex[byte & 15];
    else out += c;
  }
}

// Rows without the header, which every segment begins with.
std::string_view skip_header(std::string_view piece, bool& in_header) {
  if (!in_header) return piece;
  const size_t end = piece.find('\n');
  if (end == std::string_view::npos) return {};
  in_header = false;
  return piece.substr(end + 1);
}

}  // namespace

CsvSource::CsvSource(const SpoolRun& run, std::string_view header, std::vector<Segment> segments)
    : run_(run), segments_(std::move(segments)) {
  append_json(header_, std::string(header) + "\n");
}

Status CsvSource::check() {
  rows_bytes_ = 0;
  std::string json;
  for (const Segment& segment : segments_) {
    bool in_header = true;
    const Status status = run_.read_pieces(segment, [&](std::string_view piece) {
      json.clear();
      append_json(json, skip_header(piece, in_header));
      rows_bytes_ += static_cast<int64_t>(json.size());
    });
    if (!status) return status;
  }
  return ok();
}

void CsvSource::put_into(std::string_view object) {
  before_ = std::string(object.substr(0, object.rfind('}'))) + ",\"data_csv\":\"";
  rewind();
}

int64_t CsvSource::bytes() const {
  return static_cast<int64_t>(before_.size() + header_.size() + kEnd.size()) + rows_bytes_;
}

void CsvSource::rewind() {
  ready_.clear();
  at_ = next_ = 0;
  began_ = ended_ = false;
  file_.reset();
}

size_t CsvSource::read(char* to, size_t room) {
  if (at_ == ready_.size() && !fill()) return 0;
  const size_t bytes = std::min(room, ready_.size() - at_);
  std::memcpy(to, ready_.data() + at_, bytes);
  at_ += bytes;
  return bytes;
}

// The next piece; false at the end. A segment that cannot be read any more ends the body early, which no server takes
// for whole.
bool CsvSource::fill() {
  ready_.clear();
  at_ = 0;
  if (!std::exchange(began_, true)) return ready_.append(before_).append(header_), true;
  std::array<char, 16 * 1024> piece;
  while (ready_.empty() && !ended_) {
    if (!file_ && next_ == segments_.size()) {
      ended_ = true;
      ready_ = kEnd;
      break;
    }
    if (!file_) {
      auto file = run_.open(segments_[next_++]);
      in_header_ = true;
      if (!file) return ended_ = true, false;
      file_ = std::move(*file);
    }
    const ssize_t got = ::read(file_.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ended_ = true, false;
    if (got == 0) file_.reset();
    else append_json(ready_, skip_header({piece.data(), static_cast<size_t>(got)}, in_header_));
  }
  return !ready_.empty();
}

}  // namespace tacho
