#include "katib/read/row_shaper.h"

#include <algorithm>
#include <cstring>

#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "katib/read/utc_time.h"
#include "os/clock.h"

namespace tacho {
namespace {

constexpr size_t kLongestName = 255;      // characters: VARCHAR(255)
constexpr size_t kLongestValue = 65'535;  // bytes: TEXT of MySQL

// ASCII without NUL, eight letters at a time: bit 7 of c is set for what is no ASCII, that of c − 1 for NUL. The last
// word overlaps the one before it; a text that is shorter than a word is two overlapping halves.
bool is_plain(std::string_view text) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  uint64_t other = 0;
  const auto look = [&]<class Word>(Word word, size_t at) {
    std::memcpy(&word, text.data() + at, sizeof word);
    other |= word | (word - static_cast<Word>(kOnes));
  };
  if (text.size() >= 8) {
    for (size_t at = 0; at + 8 < text.size(); at += 8) look(uint64_t{}, at);
    look(uint64_t{}, text.size() - 8);
  } else if (text.size() >= 4) {
    look(uint32_t{}, 0);
    look(uint32_t{}, text.size() - 4);
  } else {
    for (const char c : text) other |= static_cast<unsigned char>(c) | ((static_cast<unsigned char>(c) - 1u) & 0xFF);
  }
  return (other & 0x80 * kOnes) == 0;
}

// UTF-8, and no NUL, which PostgreSQL refuses.
void clean(std::string& text) {
  text = valid_utf8(text);
  for (size_t at = text.find('\0'); at != std::string::npos; at = text.find('\0', at))
    text.replace(at, 1, "\xEF\xBF\xBD");
}

// Rows of one time that stand together, in the order of their steps.
void order_by_step(RowBatch& rows) {
  for (size_t first = 0; first < rows.size();) {
    bool all_have_one = true;
    size_t end = first;
    for (; end < rows.size() && rows[end].time_stamp == rows[first].time_stamp; ++end)
      all_have_one = all_have_one && rows[end].step.has_value();
    if (all_have_one) rows.sort_by_step(first, end);
    first = end;
  }
}

void set_apart(RowBatch& rows, size_t number, LastTimes& last) {
  const auto time_us = rows.us_of(number);
  if (!time_us) return;
  const auto [it, is_new] = last.try_emplace(rows.names()[rows.name_of(number)], LastTime{*time_us, *time_us});
  if (is_new) return;
  LastTime& seen = it->second;
  // A time that goes back is another run's: it stays as it is.
  const bool collides = *time_us >= seen.given_us && *time_us <= seen.reported_us;
  seen = {*time_us, collides ? seen.reported_us + 1 : *time_us};
  if (collides) rows.set_time(number, TimeStamp::at(seen.reported_us));
}

// make_valid() for rows of a batch: each name is looked at once.
class Validity {
 public:
  bool make(RowBatch& rows, size_t number) {
    for (size_t name = good_names_.size(); name < rows.names().size(); ++name) {
      const std::string& text = rows.names()[name];
      good_names_.push_back(!text.empty() && text.size() <= kLongestName && is_plain(text));
    }
    const std::string_view value = rows.value_of(number);
    if (good_names_[rows.name_of(number)] && value.size() <= kLongestValue && is_plain(value) && rows.us_of(number))
      return true;
    MetricRow row = rows[number];
    if (!make_valid(row)) return false;
    rows.replace(number, row);
    return true;
  }

 private:
  std::vector<bool> good_names_;
};

}  // namespace

int64_t now_us() { return system_clock().realtime_ns() / kNsPerUs; }

bool make_valid(MetricRow& row) {
  // Nearly every text is ASCII and stays as it is.
  if (!is_plain(row.name)) clean(row.name);
  if (!is_plain(row.value)) clean(row.value);
  const char* fault = nullptr;
  if (row.name.empty()) fault = "it has no name";
  else if (row.name.size() > kLongestName && count_characters(row.name) > kLongestName)
    fault = "its name is longer than 255 characters";
  else if (row.value.size() > kLongestValue) fault = "its value is longer than 65535 bytes";
  else if (!row.time_stamp.us()) fault = "its time is none";
  if (fault == nullptr) return true;
  log::warn("a row of " + row.name.substr(0, 80) + " is dropped: " + fault + "; the database could not store it");
  return false;
}

RowBatch shape_rows(RowBatch rows, const std::vector<ArrivalRun>& arrivals, const ShapeRules& rules, LastTimes& last) {
  if (rules.arrival) {
    size_t run = 0;
    int64_t in_run = 0, time_us = 0;
    for (size_t number = 0; number < rows.size(); ++number) {
      while (run < arrivals.size() && in_run >= arrivals[run].rows) ++run, in_run = 0;
      if (run < arrivals.size()) time_us = arrivals[run].time_us, ++in_run;
      if (rows[number].time_stamp != zero_time().text()) continue;
      // Strictly increasing over all rows without a time of their own; no metric has an empty name.
      LastTime& any = last[""];
      any.reported_us = std::max(time_us, any.reported_us + 1);
      rows.set_time(number, TimeStamp::at(any.reported_us));
    }
  }
  if (rules.set_apart) order_by_step(rows);
  Validity validity;
  rows.keep_if([&](size_t number) {
    if (!validity.make(rows, number)) return false;
    if (rules.set_apart) set_apart(rows, number, last);
    return true;
  });
  if (!rules.steps) return rows;
  RowBatch out;
  for (size_t number = 0; number < rows.size(); ++number) {
    const MetricRow row = rows[number];
    const auto companion = [&](const char* suffix, const std::optional<int64_t>& of_row) {
      if (!of_row) return;
      MetricRow extra{row.time_stamp, row.name + suffix, std::to_string(*of_row), {}, {}};
      if (make_valid(extra)) out.add(extra);
    };
    out.add(row);
    companion("@step", row.step);
    companion("@epoch", row.epoch);
  }
  return out;
}

}  // namespace tacho
