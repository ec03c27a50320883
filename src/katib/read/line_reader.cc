#include "katib/read/line_reader.h"

#include <algorithm>

#include "base/log.h"
#include "base/path.h"
#include "katib/read/place_json.h"

namespace tacho {

LineReader::LineReader(std::string path, ReaderOptions options)
    : options_(std::move(options)), values_(options_.non_finite), file_(std::move(path)), arrival_(options_.now_ns) {
  file_.stay_inside();
}

TimeStamp LineReader::missing_time() { return options_.row_time == RowTime::arrival ? arrival_.next() : zero_time(); }

Result<bool> LineReader::read(bool at_end, size_t limit, const Take& take) {
  taken_ = 0;
  limit = std::max<size_t>(limit, 1);
  for (size_t passed = 0;;) {
    const std::string_view unread = file_.unread();
    const size_t last = unread.substr(std::min(searched_, unread.size())).rfind('\n');
    if (last == std::string_view::npos) {
      searched_ = unread.size();
      if (skipping_ || unread.size() > kLongestLine) {
        note_long_line();
        pass(unread.size());
      }
    } else {
      const size_t size = searched_ + last + 1;
      const auto used = parse_complete(unread.substr(0, size), limit - taken_, take);
      if (!used) return used.error();
      pass(*used);
      passed += *used;
      if (taken_ >= limit || passed >= kMostBytesARead) return true;
      if (*used < size) continue;
      searched_ = unread.size() - size;
    }
    // What nobody wants need not be read.
    if (!options_.echo && !wants_rows() && file_.skip_lines()) {
      searched_ = line_matches_ = 0;
      skipping_ = false;
    }
    const uint64_t beginnings = file_.beginnings();
    const auto filled = file_.fill(at_end);
    if (!filled) return searched_ = 0, filled.error();  // what is unread may have to be read again
    if (file_.beginnings() != beginnings) {
      searched_ = line_matches_ = 0;
      skipping_ = false;
      if (options_.echo) echoed_to() = 0;
    }
    if (*filled == GrowingFile::Fill::more) continue;
    if (*filled == GrowingFile::Fill::nothing) return false;
    const std::string_view rest = file_.unread();
    if (!rest.empty()) {
      if (!skipping_) {
        const auto used = parse_complete(rest, limit - taken_, take);
        if (!used) return used.error();
        if (*used < rest.size()) return true;  // a line of very many rows
      }
      pass(rest.size());
    }
    skipping_ = false;
    searched_ = 0;
    if (!file_.next()) return false;
    if (taken_ >= limit) return true;
  }
}

// The first of the lines may be the end of one that is skipped, or be too long itself.
Result<size_t> LineReader::parse_complete(std::string_view lines, size_t limit, const Take& take) {
  const size_t first_end = lines.size() > kLongestLine || skipping_ ? lines.find('\n') : 0;
  if (skipping_ || std::min(first_end, lines.size()) > kLongestLine) {
    note_long_line();
    skipping_ = false;
    return std::min(first_end, lines.size() - 1) + 1;
  }
  if (!wants_rows()) {
    line_matches_ = 0;
    return lines.size();
  }
  const auto used = parse(lines, limit, take);
  line_at_ = 0;
  return used;
}

void LineReader::note_long_line() {
  if (std::exchange(skipping_, true)) return;
  ++long_lines_;
  log::warn("a line of " + file_.path() +
            " is longer than 1 MiB; such lines are skipped (print metrics on lines of their own)");
}

uint64_t& LineReader::echoed_to() {
  const auto file = file_.identity();
  const auto known =
      std::find_if(echoed_.begin(), echoed_.end(), [&](const auto& entry) { return entry.first == file; });
  if (known != echoed_.end()) return known->second;
  constexpr size_t kMostFiles = 8;
  if (echoed_.size() == kMostFiles) echoed_.erase(echoed_.begin());
  return echoed_.emplace_back(file, 0).second;
}

// Goes on behind `bytes`; what was not echoed yet is.
void LineReader::pass(size_t bytes) {
  if (options_.echo) {
    uint64_t& done = echoed_to();
    const uint64_t from = file_.offset(), to = from + bytes;
    if (to > done) {
      const size_t skip = done > from ? static_cast<size_t>(done - from) : 0;
      options_.echo(file_.unread().substr(skip, bytes - skip));
      done = to;
    }
  }
  file_.consume(bytes);
  searched_ = 0;
}

std::string LineReader::position() const {
  const auto place = file_.place();
  if (!place) return {};
  auto json = place_to_json(*place);
  if (skipping_) json["skipping"] = true;
  if (line_matches_ > 0) json["matches"] = line_matches_;
  return json.dump();
}

Status LineReader::seek(std::string_view position) {
  searched_ = line_matches_ = 0;
  skipping_ = false;
  if (position.empty()) {
    file_.seek(std::nullopt);
    return ok();
  }
  try {
    const auto json = nlohmann::json::parse(position);
    file_.seek(place_from_json(json));
    skipping_ = json.value("skipping", false);
    line_matches_ = json.value("matches", size_t{0});
  } catch (const nlohmann::json::exception&) {
    return Error{Code::invalid, "the place in the log cannot be understood", std::string(position),
                 "remove the state file to begin anew"};
  }
  return ok();
}

std::vector<std::string> LineReader::folders() const { return {parent_folder(file_.path())}; }

ReaderCounts LineReader::counts() const {
  ReaderCounts counts;
  counts.long_lines = long_lines_;
  counts.bad_lines = bad_lines_;
  values_.count(counts);
  return counts;
}

}  // namespace tacho
