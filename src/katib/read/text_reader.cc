// TEXT logs. Nothing is done with a line before one of the metrics' names was found in it, searching the whole buffer
// at once; a line without one costs no more than that search.
#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "base/short_text.h"
#include "base/text.h"
#include "katib/read/filter.h"
#include "katib/read/line_reader.h"
#include "katib/read/needles.h"
#include "katib/read/plain_regex.h"
#include "katib/read/readers.h"
#include "katib/read/value_rule.h"

namespace tacho {
namespace {

// Eight letters at a time.
bool is_ascii(std::string_view text) {
  uint64_t all = 0, word = 0;
  size_t at = 0;
  for (; at + sizeof word <= text.size(); at += sizeof word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    all |= word;
  }
  for (; at < text.size(); ++at) all |= static_cast<unsigned char>(text[at]);
  return (all & 0x8080808080808080) == 0;
}

bool is_valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

class TextReader final : public LineReader {
 public:
  TextReader(std::string path, ReaderOptions options, std::vector<Filter> filters)
      : LineReader(std::move(path), std::move(options)), filters_(std::move(filters)), scan_(options_.metrics) {
    needs_utf8_ = !filters_.empty() && !(filters_.size() == 1 && filters_[0].is_default());
  }

 private:
  Result<size_t> parse(std::string_view lines, size_t limit, const Take& take) override {
    const size_t enough = taken_ + limit;
    const char* const end = lines.data() + lines.size();
    scan_.start(lines);
    for (const char* at = lines.data(); at < end;) {
      const char* found = scan_.next(at);
      if (found == nullptr) break;
      const auto* before = static_cast<const char*>(::memrchr(at, '\n', static_cast<size_t>(found - at)));
      const char* line = before == nullptr ? at : before + 1;
      const auto* line_end = static_cast<const char*>(std::memchr(found, '\n', static_cast<size_t>(end - found)));
      if (line_end == nullptr) line_end = end;
      line_at_ = static_cast<size_t>(line - lines.data());
      if (!parse_line({line, static_cast<size_t>(line_end - line)}, found, enough, take))
        return static_cast<size_t>(line - lines.data());
      at = line_end + 1;
      if (taken_ >= enough) return std::min(static_cast<size_t>(at - lines.data()), lines.size());
    }
    return lines.size();
  }

  // "2026-11-15T09:30:00Z epoch 3: accuracy=0.91 loss=0.12"
  // False: `enough` rows were taken before its end. It is searched again then, and what was dealt with is passed over:
  // a line of 1 MiB can hold more rows than may be in memory, and a place within it is told by their number. `found`:
  // the first place of a metric's name in it.
  bool parse_line(std::string_view line, const char* found, size_t enough, const Take& take) {
    const size_t before = std::exchange(line_matches_, 0);
    size_t matches = 0;
    std::string valid;
    const size_t space = line.find(' ');
    const std::string_view first = space == std::string_view::npos ? std::string_view() : line.substr(0, space);
    const std::optional<int64_t> own_us = options_.with_times ? times_.parse_us(first) : std::nullopt;
    const bool ascii = needs_utf8_ && is_ascii(line);
    if (needs_utf8_ && !ascii && !is_valid_utf8(line)) line = valid = valid_utf8(line);
    const auto visit = [&](const FilterMatch& match) {
      const std::string* metric = find_metric(match.name);
      if (metric == nullptr) return true;
      if (matches >= before && taken_ >= enough) return false;
      if (matches++ < before) return true;
      const auto value = values_.judge(*metric, match.value, match.behind);
      if (!value) return true;
      count_row(*value);
      if (own_us) take({first, own_us, *metric, *value});
      else take({missing_time(), *metric, *value});
      return true;
    };
    if (ascii && filters_.size() == 1 && filters_[0].is_plain()) {
      if (find_near_names(line, found, visit)) return true;
      line_matches_ = matches;
      return false;
    }
    if (filters_.size() == 1 && filters_[0].is_default()) {
      DefaultMatches found_all(line);
      for (FilterMatch match; found_all.next(match);) {
        if (visit(match)) continue;
        line_matches_ = matches;
        return false;
      }
      return true;
    }
    for (Filter& filter : filters_) {
      if (filter.find_all(line, std::cref(visit), ascii)) continue;
      line_matches_ = matches;
      return false;
    }
    return true;
  }

  // A match that counts holds a metric's name: only what lies round these is searched. A name of a metric without such
  // a place is none.
  template <class Visit>
  bool find_near_names(std::string_view line, const char* found, const Visit& visit) {
    const char* const end = line.data() + line.size();
    for (const char *at = found, *from = line.data(); at != nullptr && at < end; at = scan_.next(from)) {
      const RunSequence* const sequence = filters_[0].sequence();
      RunSequence::Match match;
      const auto result = sequence ? sequence->find_around(at, from, end, match) : RunSequence::Found::unknown;
      if (result != RunSequence::Found::unknown) {
        if (result == RunSequence::Found::yes && !visit({trim_unicode(match.first), trim_unicode(match.second), {}}))
          return false;
        from = match.end;
      } else {
        const PlainRegex* const plain = filters_[0].plain();
        const std::string_view part = plain == nullptr ? std::string_view(from, static_cast<size_t>(end - from))
                                                       : plain->part_round(at, from, end);
        if (!filters_[0].find_all(part, std::cref(visit), true)) return false;
        from = std::max(part.data() + part.size(), at + 1);
      }
      if (from >= end) break;
    }
    return true;
  }

  const std::string* find_metric(std::string_view name) const {
    for (const std::string& metric : options_.metrics)
      if (same_text(metric, name)) return &metric;
    return nullptr;
  }

  std::vector<Filter> filters_;
  NeedleScan scan_;
  TimeStampParser times_;
  bool needs_utf8_;
};

}  // namespace

Result<std::unique_ptr<Reader>> make_text_reader(std::string path, ReaderOptions options) {
  auto filters = compile_filters(options.filters);
  if (!filters) return filters.error();
  return std::unique_ptr<Reader>(
      std::make_unique<TextReader>(std::move(path), std::move(options), std::move(*filters)));
}

}  // namespace tacho
