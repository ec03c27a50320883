// What the readers of tacho-katib collect are told, as plain data: the flags that concern parsing. The command line
// fills it; names that begin with tacho_ (the trial's own resources) are taken out before.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tacho {

enum class Profile { drop_in, tacho };               // --profile
enum class RowTime { zero, arrival };                // --no-timestamp: for a row without a time of its own
enum class JsonTime { digits, exact };               // --json-time
enum class NonFinite { drop, report, unavailable };  // --nonfinite
enum class BadLine { skip, fail };                   // --bad-line: a JSON line that is none
enum class TagRule { prefix, whole };                // how an event file's tag is matched with a metric's name

struct ReaderOptions {
  std::vector<std::string> metrics;  // -m, the objective first; none: nothing is parsed, lines are still echoed
  std::vector<std::string> filters;  // -f; none: the default filter
  RowTime row_time = RowTime::zero;
  bool with_times = true;  // false: of a log's rows only names and values count, and no time is read
  JsonTime json_time = JsonTime::digits;
  NonFinite non_finite = NonFinite::drop;
  BadLine bad_line = BadLine::skip;
  TagRule tag_rule = TagRule::prefix;
  bool whole_folders = false;  // the folder part of a name matches whole components of the path, not its last letters
  bool report_at_end = false;  // --report end: event files in the order of the existing collector, purged exactly
  std::string step_metric;     // --step-metric, PrometheusMetric only
  // Gets every byte of a log once, in whole lines, when the reader passes it (--echo). Empty: nobody wants it.
  std::function<void(std::string_view)> echo;
  // The wall clock for arrival times, ns since 1970; empty: the system's.
  std::function<int64_t()> now_ns;

  // The values that a profile stands for; explicit flags are set after it.
  void set_profile(Profile profile) {
    const bool better = profile == Profile::tacho;
    row_time = better ? RowTime::arrival : RowTime::zero;
    json_time = better ? JsonTime::exact : JsonTime::digits;
    tag_rule = better ? TagRule::whole : TagRule::prefix;
    whole_folders = better;
  }
};

// What a reader skipped; each kind is logged once and counted here.
struct ReaderCounts {
  uint64_t long_lines = 0;    // over 1 MiB
  uint64_t bad_lines = 0;     // JSON that is none
  uint64_t empty_values = 0;  // a name without a value
  uint64_t non_finite = 0;    // NaN and infinities, whatever was done with them
  uint64_t bad_records = 0;   // event records with a wrong checksum or not to be decoded
};

// -m and -f as the stock webhook passes them: joined by ';'. With `quotes` a ';' between double quotes does not split
// (PrometheusMetric). Empty items are left out. A flag that was given several times is not split: each is one item.
std::vector<std::string> split_items(std::string_view text, bool quotes = false);

}  // namespace tacho
