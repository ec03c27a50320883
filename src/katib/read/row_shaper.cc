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

size_t characters(std::string_view utf8) {
  return static_cast<size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// Rows of one time that stand together, in the order of their steps.
void order_by_step(std::vector<MetricRow>& rows) {
  for (size_t first = 0; first < rows.size();) {
    size_t end = first + 1;
    while (end < rows.size() && rows[end].time_stamp == rows[first].time_stamp) ++end;
    const auto begin = rows.begin() + static_cast<ptrdiff_t>(first), past = rows.begin() + static_cast<ptrdiff_t>(end);
    if (std::all_of(begin, past, [](const MetricRow& row) { return row.step.has_value(); }))
      std::stable_sort(begin, past, [](const MetricRow& a, const MetricRow& b) { return *a.step < *b.step; });
    first = end;
  }
}

void set_apart(MetricRow& row, LastTimes& last) {
  const auto time_us = row.time_stamp.us();
  if (!time_us) return;
  const auto [it, is_new] = last.try_emplace(row.name, LastTime{*time_us, *time_us});
  if (is_new) return;
  LastTime& seen = it->second;
  // A time that goes back is another run's: it stays as it is.
  const bool collides = *time_us >= seen.given_us && *time_us <= seen.reported_us;
  seen = {*time_us, collides ? seen.reported_us + 1 : *time_us};
  if (collides) row.time_stamp = TimeStamp::at(seen.reported_us);
}

}  // namespace

int64_t now_us() { return system_clock().realtime_ns() / kNsPerUs; }

bool make_valid(MetricRow& row) {
  // Nearly every text is ASCII and stays as it is.
  if (!is_plain(row.name)) clean(row.name);
  if (!is_plain(row.value)) clean(row.value);
  const char* fault = nullptr;
  if (row.name.empty()) fault = "it has no name";
  else if (row.name.size() > kLongestName && characters(row.name) > kLongestName)
    fault = "its name is longer than 255 characters";
  else if (row.value.size() > kLongestValue) fault = "its value is longer than 65535 bytes";
  else if (!row.time_stamp.us()) fault = "its time is none";
  if (fault == nullptr) return true;
  log::warn("a row of " + row.name.substr(0, 80) + " is dropped: " + fault + "; the database could not store it");
  return false;
}

std::vector<MetricRow> shape_rows(std::vector<MetricRow> rows, const std::vector<ArrivalRun>& arrivals,
                                  const ShapeRules& rules, LastTimes& last) {
  if (rules.arrival) {
    size_t run = 0;
    int64_t in_run = 0, time_us = 0;
    for (MetricRow& row : rows) {
      while (run < arrivals.size() && in_run >= arrivals[run].rows) ++run, in_run = 0;
      if (run < arrivals.size()) time_us = arrivals[run].time_us, ++in_run;
      if (row.time_stamp != zero_time()) continue;
      // Strictly increasing over all rows without a time of their own; no metric has an empty name.
      LastTime& any = last[""];
      any.reported_us = std::max(time_us, any.reported_us + 1);
      row.time_stamp = TimeStamp::at(any.reported_us);
    }
  }
  if (rules.set_apart) order_by_step(rows);
  if (!rules.steps) {  // none is added, so they stay where they are
    std::erase_if(rows, [&](MetricRow& row) {
      if (!make_valid(row)) return true;
      if (rules.set_apart) set_apart(row, last);
      return false;
    });
    return rows;
  }
  std::vector<MetricRow> out;
  out.reserve(rows.size());
  for (MetricRow& row : rows) {
    if (!make_valid(row)) continue;
    if (rules.set_apart) set_apart(row, last);
    const auto companion = [&](const char* suffix, const std::optional<int64_t>& number) {
      if (!number) return;
      MetricRow extra{row.time_stamp, row.name + suffix, std::to_string(*number), {}, {}};
      if (make_valid(extra)) out.push_back(std::move(extra));
    };
    out.push_back(row);
    companion("@step", row.step);
    companion("@epoch", row.epoch);
  }
  return out;
}

}  // namespace tacho
